import Delivery
import Operations
import PushCore
import StorePostgreSQL
import Support
import Testing

/// Many idle workers on one database: a notification of new work reaches all, and one of them works.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(2)))
struct WakeUpTests {
  private static let workers = 8
  private static let pushes = 40

  @Test("an urgent push wakes eight idle workers, of which one sends it and none asks more than twice")
  func herd() async throws {
    try await Database.with { location, _ in
      // They stand still: nobody looks by himself, and what is sent was heard of.
      let clocks = DrivenClocks()
      let sender = (0..<Self.workers).map { _ in ScriptedSender() }
      var benches: [WorkerBench] = []
      for sender in sender {
        let store = try await PostgreSQLStore.open(location)
        benches.append(
          WorkerBench(store: FaultyStore(store), sender: sender, clocks: clocks, storeClocks: DrivenClocks()))
      }
      // A process that has no worker.
      let publisher = WorkerBench(
        store: FaultyStore(try await PostgreSQLStore.open(location)), sender: ScriptedSender(), clocks: clocks,
        storeClocks: DrivenClocks())
      _ = try await publisher.store.bind([
        AppBinding(topic: WorkerBench.topic, environment: .production, teamID: "ABCDE12345", keyID: "KEY1234567")
      ])
      let token = try await publisher.register(1)
      func claims() -> Int { benches.map { $0.store.calls("claim") }.reduce(0, +) }
      func sent() -> [NotificationID] { sender.flatMap(\.sent).map(\.notification) }

      var delays: [Duration] = []
      var ids: [NotificationID] = []
      try await Self.working(benches) {
        try await eventually("all have looked at every lane") {
          benches.allSatisfy { $0.store.calls("claim") >= Lane.allCases.count }
        }
        let before = claims()
        for number in 1...Self.pushes {
          let start = SystemClocks().monotonicTime()
          ids.append(try await publisher.publish(Target(tokens: token), lane: .urgent))
          try await eventually("it is sent") { sent().count >= number }
          delays.append(SystemClocks().monotonicTime().since(start))
        }
        #expect(claims() - before <= 2 * Self.workers * Self.pushes)
      }

      #expect(sent().count == Self.pushes && Set(sent()) == Set(ids))
      #expect(delays.sorted()[Self.pushes / 2] < .milliseconds(250), "the time between two looks")
      for bench in benches + [publisher] { await bench.store.close() }
    }
  }

  /// Runs `body` beside the workers of all benches.
  private static func working(_ benches: [WorkerBench], _ body: () async throws -> Void) async throws {
    let workers = benches.enumerated().map { index, bench in
      var configuration = WorkerConfiguration(owner: Int64(index + 1))
      configuration.probesCredentials = false
      return Worker(
        store: bench.store, sender: bench.sender, clocks: bench.clocks, configuration: configuration, events: { _ in })
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in workers { group.addTask { await worker.run() } }
      let outcome: Result<Void, any Error>
      do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
      for worker in workers { worker.stop(grace: .zero) }
      try await group.waitForAll()
      try outcome.get()
    }
  }
}
