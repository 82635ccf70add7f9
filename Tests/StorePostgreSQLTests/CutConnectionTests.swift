import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// Connections that break in the middle of a call, byte by byte: whether its commit happened cannot be known then, and it is written once.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .serialized,
  .timeLimit(.minutes(3)))
struct CutConnectionTests {
  private static let topic = AppBinding.example.topic

  /// Cuts the connection once while a call runs.
  private final class Scissors {
    let proxy: CuttingProxy
    let side: CuttingProxy.Side
    var round = 0
    /// The call was over before its connection was to be cut.
    var isThrough = false

    init(_ proxy: CuttingProxy, _ side: CuttingProxy.Side) {
      self.proxy = proxy
      self.side = side
    }

    func cut<Result>(_ call: () async throws -> Result) async throws -> Result {
      proxy.cut(side, after: round * 31)
      let result = try await call()
      isThrough = !proxy.wasCut()
      return result
    }
  }

  /// Runs `body` with a store behind a proxy, once for each place in which the connection is cut.
  private func everywhere(
    _ side: CuttingProxy.Side, _ body: (PostgreSQLStore, Scissors, Connection) async throws -> Void
  ) async throws {
    try await Database.with { location, server in
      let scissors = Scissors(try CuttingProxy(before: server.folder), side)
      let direct = try Connection(location, patience: .seconds(10), answerTime: .seconds(60))
      try direct.execute("SET search_path=pushrelay")
      let uri = location.uri.reveal().replacing(server.folder, with: scissors.proxy.folder)
      let store = try await PostgreSQLStore.open(PostgreSQLLocation(uri))
      _ = try await store.bind([.example])
      while !scissors.isThrough {
        try await body(store, scissors, direct)
        scissors.round += 1
      }
      #expect(scissors.round > 5, "only so many places were tried")
      await store.close()
    }
  }

  private static func publication(_ round: Int) -> Publication {
    let tokens = [2 * round, 2 * round + 1].map { number in
      let digits = String(number, radix: 16)
      return DeviceToken(stored: String(repeating: "0", count: 64 - digits.count) + digits)
    }
    return Publication(
      topic: topic, target: Target(tokens: tokens), payload: [0x61],
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .normal)
  }

  private static func publish(_ store: PostgreSQLStore, _ round: Int) async throws -> NotificationID {
    let result = try await store.publish(publication(round))
    guard case .stored(let id, _) = result else { throw SupportError("publish answered \(result)") }
    return id
  }

  private static func claim(_ store: PostgreSQLStore, _ credentials: [CredentialID]) async throws -> [LeasedTask] {
    try await store.claim(
      ClaimRequest(lane: .normal, owner: 1, lease: .seconds(60), window: nil, credentials: credentials, limit: 500))
  }

  /// One device accepted, the other to be tried again.
  private static func news(_ task: LeasedTask, _ devices: [DeviceID], ends: Bool) -> TaskFlush {
    var counts = Counts()
    counts.devices = 2
    counts.accepted = 1
    return TaskFlush(
      task: task.id, notificationID: task.notificationID, epoch: task.epoch, settledBefore: 0, attempt: 0,
      cursor: devices[1], count: 2,
      receipts: .packed(
        ReceiptChunk(devices: devices, exceptions: [.init(index: 1, status: 503, reason: .timeout, outcome: .pending)])),
      counts: counts,
      lists: [
        NewList(devices: [devices[1]], delay: .seconds(3600), credentialID: nil, isCounted: true, isHeld: false)
      ], ends: ends, cut: false)
  }

  @Test(
    "A flush on a connection that is cut is written once: receipts, sums and retries",
    arguments: CuttingProxy.Side.allCases)
  func flush(_ side: CuttingProxy.Side) async throws {
    try await everywhere(side) { store, scissors, direct in
      let round = scissors.round
      let id = try await Self.publish(store, round)
      let credentials = try await store.credentials().map(\.id)
      let task = try #require(try await Self.claim(store, credentials).first { $0.notificationID == id })
      let devices = try #require(try await store.notification(id)?.target.devices)
      let ends = round.isMultiple(of: 2)

      let states = try await scissors.cut {
        try await store.flush(
          [Self.news(task, devices, ends: ends)], retirements: [], owner: 1, lease: .seconds(60))
      }

      #expect(states == [.kept], "round \(round)")
      let counts = try #require(try await store.status(id)).counts
      #expect(counts.devices == 2 && counts.accepted == 1 && counts.pending == 1, "round \(round)")
      #expect(try direct.execute("SELECT sum(n) FROM receipt_chunk WHERE notification_id=\(id)") == "2")
      let tasks = try direct.execute("SELECT count(*) FROM task WHERE notification_id=\(id)")
      #expect(tasks == (ends ? "1" : "2"), "round \(round)")
      let open = try direct.execute("SELECT open_tasks FROM notification_state WHERE notification_id=\(id)")
      #expect(open == tasks, "round \(round)")
    }
  }

  @Test("A publish on a connection that is cut is stored once", arguments: CuttingProxy.Side.allCases)
  func publish(_ side: CuttingProxy.Side) async throws {
    try await everywhere(side) { store, scissors, direct in
      let round = scissors.round
      let id = try await scissors.cut { try await Self.publish(store, round) }

      #expect(try direct.execute("SELECT count(*) FROM notification") == "\(round + 1)")
      #expect(try direct.execute("SELECT count(*) FROM task WHERE notification_id=\(id)") == "1")
    }
  }

  @Test(
    "A claim on a connection that is cut leases every task, or leaves it until the lease ends",
    arguments: CuttingProxy.Side.allCases)
  func claim(_ side: CuttingProxy.Side) async throws {
    try await everywhere(side) { store, scissors, direct in
      let round = scissors.round
      let id = try await Self.publish(store, round)
      let credentials = try await store.credentials().map(\.id)

      let claimed = try await scissors.cut { try await Self.claim(store, credentials) }.map(\.notificationID)

      if claimed.isEmpty {
        // The answer that is lost took the lease along, whose end brings the task back; or the server has not seen yet that the connection is
        // gone, and its row is still passed over.
        try await eventually("round \(round): the task comes back") {
          try direct.execute("UPDATE task SET lease_until='-infinity' WHERE state=1")
          _ = try await store.reap(except: [])
          return try await Self.claim(store, credentials).map(\.notificationID) == [id]
        }
      } else {
        #expect(claimed == [id], "round \(round)")
      }
      try direct.execute("DELETE FROM task")
    }
  }
}
