import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// Servers that stop, sessions that are ended, commits without an answer: nothing that was acknowledged is lost, and nothing written twice.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .serialized,
  .timeLimit(.minutes(3)))
struct FaultTests {
  private static let topic = AppBinding.example.topic

  private static func publication(_ number: Int, key: String? = nil) -> Publication {
    let text = String(number)
    let token = String(repeating: "0", count: 64 - text.count) + text
    return Publication(
      topic: topic, target: Target(tokens: [DeviceToken(stored: token)]), payload: [0x61],
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .normal,
      idempotencyKey: key.map { IdempotencyKey(scope: 0, key: $0, requestHash: [1]) })
  }

  private static func publish(_ store: PostgreSQLStore, _ number: Int) async throws -> NotificationID {
    let result = try await store.publish(publication(number))
    guard case .stored(let id, _) = result else { throw SupportError("publish answered \(result)") }
    return id
  }

  private static func claim(_ store: PostgreSQLStore, owner: Int64 = 1) async throws -> [LeasedTask] {
    let credentials = try await store.credentials().map(\.id)
    return try await store.claim(
      ClaimRequest(lane: .normal, owner: owner, lease: .seconds(60), window: nil, credentials: credentials, limit: 500))
  }

  /// The news of a task whose only device was accepted.
  private static func news(_ task: LeasedTask, _ store: PostgreSQLStore, ends: Bool = true) async throws -> TaskFlush {
    let device = try #require(try await store.notification(task.notificationID)?.target.devices.first)
    var counts = Counts()
    counts.devices = 1
    counts.accepted = 1
    return TaskFlush(
      task: task.id, notificationID: task.notificationID, epoch: task.epoch, settledBefore: 0, attempt: 0,
      cursor: device, count: 1, receipts: .packed(ReceiptChunk(devices: [device], exceptions: [])), counts: counts,
      lists: [], ends: ends, cut: false)
  }

  /// Runs `body` with a server and a store of its own.
  private func withServer(
    patience: Duration = .seconds(30), _ body: (PostgreSQLServer, PostgreSQLStore) async throws -> Void
  ) async throws {
    try await PostgreSQLServer.with { server in
      var options = PostgreSQLStore.Options()
      options.patience = patience
      let store = try await PostgreSQLStore.open(PostgreSQLLocation(server.uri("postgres")), options: options)
      _ = try await store.bind([.example])
      try await body(server, store)
      await store.close()
    }
  }

  @Test("A server that crashed and came back while nobody asked is not noticed")
  func restartWhileIdle() async throws {
    try await withServer { server, store in
      let id = try await Self.publish(store, 1)
      let heard = Watched<[Lane]>([])
      await store.onNewWork { lane in heard.update { $0.append(lane) } }
      try await server.order("-m immediate stop")
      try await server.order("start")

      #expect(try await store.status(id)?.state == .queued)
      _ = try await Self.publish(store, 2)
      #expect(try await Self.claim(store).count == 2)
      // The bell connects again too, and looks for what it missed.
      _ = try await heard.wait(within: .seconds(20), "for the lane that had no work") { $0.contains(.bulk) }
    }
  }

  @Test("While the server is away calls fail for now; afterwards everything goes on")
  func away() async throws {
    try await withServer(patience: .milliseconds(200)) { server, store in
      let id = try await Self.publish(store, 1)
      try await server.order("-m immediate stop")
      let error = await #expect(throws: StoreError.self) { _ = try await Self.publish(store, 2) }
      #expect(error?.code == .temporary && error?.description.contains("publish, connect to postgresql://") == true)
      await #expect(throws: StoreError.self) { _ = try await store.status(id) }
      try await server.order("start")

      try await eventually(within: .seconds(30), "the store works again") {
        (try? await store.status(id))?.state == .queued
      }
      #expect(try await Self.claim(store).map(\.notificationID) == [id])
    }
  }

  @Test("A crash in the middle of publishes loses none that was acknowledged, and stores none twice")
  func crashWhileBusy() async throws {
    try await withServer { server, store in
      let published = Watched(0)
      async let crash: Void = {
        _ = try await published.wait(within: .seconds(60), "for publishes") { $0 >= 30 }
        try await server.order("-m immediate stop")
        try await server.order("start")
      }()
      let ids = try await withThrowingTaskGroup(of: [NotificationID].self) { group in
        for writer in 0..<8 {
          group.addTask {
            var ids: [NotificationID] = []
            for number in 0..<40 {
              ids.append(try await Self.publish(store, writer * 1000 + number))
              published.update { $0 += 1 }
            }
            return ids
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
      try await crash

      #expect(Set(ids).count == 320)
      #expect(Set(try await Self.claim(store).map(\.notificationID)) == Set(ids))
    }
  }

  @Test("A session that an administrator ends is made again, and the call does not notice")
  func terminated() async throws {
    try await withServer { server, store in
      for number in 0..<5 {
        _ = try await Self.publish(store, number)
        try await server.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='pushrelay'")
      }
      #expect(try await Self.claim(store).count == 5)
    }
  }

  /// Ends the store's session while its COMMIT is done on this server and waits for a standby that does not exist: the answer never comes.
  private func loseTheAnswer(_ server: PostgreSQLServer, during call: () async throws -> Void) async throws {
    try await server.sql("ALTER SYSTEM SET synchronous_standby_names='nobody'")
    // Not reloaded: when the server has taken the setting over then, nobody can see.
    try await server.order("restart")
    async let ending: Void = {
      try await eventually(within: .seconds(20), "a commit waits") {
        try await server.sql(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event='SyncRep'") == ["t"]
      }
      try await server.sql("ALTER SYSTEM RESET synchronous_standby_names")
      try await server.sql("SELECT pg_reload_conf()")
    }()
    try await call()
    try await ending
  }

  @Test("A publish whose commit was not answered is stored once, and gives its own id")
  func unansweredPublish() async throws {
    try await withServer { server, store in
      for key in [nil, "a"] {
        let result = Lock<PublishResult?>(nil)
        try await loseTheAnswer(server) {
          let answer = try await store.publish(Self.publication(1, key: key))
          result.withLock { $0 = answer }
        }
        guard case .stored(let id, 1)? = result.withLock({ $0 }) else {
          Issue.record("\(String(describing: result.withLock { $0 }))")
          return
        }
        #expect(try await Self.claim(store).map(\.notificationID) == [id])
      }
    }
  }

  @Test("A flush whose commit was not answered is known to be written, and written once", arguments: [true, false])
  func unansweredFlush(ends: Bool) async throws {
    try await withServer { server, store in
      let id = try await Self.publish(store, 1)
      let task = try #require(try await Self.claim(store).first)
      let flush = try await Self.news(task, store, ends: ends)
      let states = Lock<[LeaseState]>([])

      try await loseTheAnswer(server) {
        let answer = try await store.flush([flush], retirements: [], owner: 1, lease: .seconds(60))
        states.withLock { $0 = answer }
      }

      #expect(states.withLock { $0 } == [.kept])
      #expect(try await store.status(id)?.counts.accepted == 1)
      #expect(try await store.flush([flush], retirements: [], owner: 1, lease: .seconds(60)) == [.lost])
      #expect(try await store.status(id)?.state == (ends ? .done : .sending))
    }
  }

  @Test("Two transactions that wait for each other are both done in the end")
  func deadlock() async throws {
    try await Database.with { location, server in
      let store = try await PostgreSQLStore.open(location)
      _ = try await store.bind([
        .example, AppBinding(topic: Self.topic, environment: .sandbox, teamID: nil, keyID: nil),
      ])
      let ids = try await store.credentials().map(\.id)
      let other = try Connection(location, patience: .seconds(10), answerTime: .seconds(60))
      try other.execute("BEGIN; UPDATE pushrelay.credential SET held_reason='x' WHERE credential_id=\(ids[1].rawValue)")

      async let change: Void = store.write { (transaction) throws(StoreError) in
        for id in ids { try transaction.run("UPDATE credential SET held_reason='y' WHERE credential_id=$1", id) }
      }
      try await eventually("it waits for the second row") {
        try await server.sql(
          "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type='Lock'", at: location.uri.reveal()) == ["1"]
      }
      // This one gives way or makes the store's give way; the store's is repeated then.
      let outcome = Result { () throws(StoreError) in
        try other.execute(
          "UPDATE pushrelay.credential SET held_reason='x' WHERE credential_id=\(ids[0].rawValue); COMMIT")
      }
      if case .failure(let error) = outcome { #expect(error.underlying.contains("deadlock")) }
      if other.isInTransaction { try other.execute("ROLLBACK") }
      try await change

      #expect(try await store.credentials().allSatisfy { $0.heldReason == "y" })
      await store.close()
    }
  }

  @Test("A pooler that forgets prepared statements costs a repetition, not the call")
  func forgottenStatements() async throws {
    try await Database.with { location, _ in
      let store = try await PostgreSQLStore.open(location)
      _ = try await store.bind([.example])
      let first = try await Self.publish(store, 1)
      _ = try await store.write { (transaction) throws(StoreError) in
        try transaction.connection.execute("DEALLOCATE ALL")
      }
      let second = try await Self.publish(store, 2)
      #expect(Set(try await Self.claim(store).map(\.notificationID)) == [first, second])
      let prepares = try await store.write { (transaction) throws(StoreError) in
        transaction.connection.preparesStatements
      }
      #expect(!prepares)
      await store.close()
    }
  }

  @Test("A server that takes no writes makes calls fail for now, and another one is looked for")
  func readOnly() async throws {
    try await Database.with { location, server in
      let store = try await PostgreSQLStore.open(location)
      _ = try await store.bind([.example])
      let name = try #require(
        try await server.sql("SELECT current_database()", at: location.uri.reveal()).first)
      try await server.sql("ALTER DATABASE \(name) SET default_transaction_read_only=on")
      try await server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname='\(name)'")

      let error = await #expect(throws: StoreError.self) { _ = try await Self.publish(store, 1) }
      #expect(error?.code == .temporary && error?.remedy.contains("primary") == true)
      try await server.sql("ALTER DATABASE \(name) RESET default_transaction_read_only")
      _ = try await Self.publish(store, 2)
      #expect(try await Self.claim(store).count == 1)
      await store.close()
    }
  }

  @Test("A lock held beyond the patience makes a write fail for now, and stores nothing")
  func lockBeyondPatience() async throws {
    try await Database.with { location, _ in
      var options = PostgreSQLStore.Options()
      options.lockTime = .milliseconds(50)
      let store = try await PostgreSQLStore.open(location, options: options)
      _ = try await store.bind([.example])
      let other = try Connection(location, patience: .seconds(10), answerTime: .seconds(60))
      try other.execute("BEGIN; LOCK TABLE pushrelay.task")

      let error = await #expect(throws: StoreError.self) { _ = try await Self.publish(store, 1) }
      #expect(error?.code == .temporary && error?.remedy.contains("lock") == true)
      try other.execute("COMMIT")
      _ = try await Self.publish(store, 2)
      #expect(try other.execute("SELECT count(*) FROM pushrelay.notification") == "1")
      await store.close()
    }
  }
}
