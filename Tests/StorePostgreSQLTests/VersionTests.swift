import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// Two versions of the program on one database. What is refused at opening stands in OpeningTests.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(2)))
struct VersionTests {
  private func connection(_ location: PostgreSQLLocation) throws -> Connection {
    try Connection(location, patience: .seconds(10), answerTime: .seconds(20))
  }

  private func publish(_ store: PostgreSQLStore, _ token: String) async throws -> NotificationID {
    let result = try await store.publish(
      Publication(
        topic: AppBinding.example.topic, target: Target(tokens: [DeviceToken(stored: token)]), payload: [0x61],
        headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .bulk))
    guard case .stored(let id, _) = result else { throw SupportError("publish answered \(result)") }
    return id
  }

  private func claim(_ store: PostgreSQLStore) async throws -> [LeasedTask] {
    let credentials = try await store.credentials().map(\.id)
    return try await store.claim(
      ClaimRequest(lane: .bulk, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 10))
  }

  /// Writes that the only device of a task was accepted.
  private func deliver(_ task: LeasedTask, _ store: PostgreSQLStore, ends: Bool = true) async throws {
    let device = try #require(try await store.notification(task.notificationID)?.target.devices.first)
    var counts = Counts()
    counts.devices = 1
    counts.accepted = 1
    let flush = TaskFlush(
      task: task.id, notificationID: task.notificationID, epoch: task.epoch, settledBefore: 0, attempt: 0,
      cursor: ends ? device : task.cursor, count: 1,
      receipts: .packed(ReceiptChunk(devices: [device], exceptions: [])), counts: counts, lists: [], ends: ends,
      cut: false)
    #expect(try await store.flush([flush], retirements: [], owner: 1, lease: .seconds(15)) == [.kept])
  }

  @Test("A task that this version cannot read is parked, and no other waits for it")
  func unreadableTask() async throws {
    try await Database.with { location, _ in
      let clocks = DrivenClocks()
      let store = try await PostgreSQLStore.open(location, clocks: clocks)
      _ = try await store.bind([.example])
      let bad = try await publish(store, "aa")
      try connection(location).execute("UPDATE pushrelay.task SET list=decode('80','hex')")

      for round in 1...5 {
        let good = try await publish(store, "b\(round)")
        let claimed = try await claim(store).map(\.notificationID)
        #expect(claimed.contains(good) && !claimed.contains(bad))
        clocks.advance(by: .seconds(16))
        _ = try await store.reap(except: [])
      }
      #expect(try await store.status(bad)?.state == .parked)
      await store.close()
    }
  }

  @Test("Receipts that a later version wrote stop this one from going on with their task, and stay as they are")
  func laterReceipts() async throws {
    try await Database.with { location, _ in
      let store = try await PostgreSQLStore.open(location)
      _ = try await store.bind([.example])
      let id = try await publish(store, "aa")
      let task = try #require(try await claim(store).first)
      try await deliver(task, store, ends: false)
      let connection = try connection(location)

      #expect(try await store.settledDevices(of: task, rowReceipts: false).count == 1)
      #expect(try await store.receipts(id, outcome: nil, after: DeviceID(0), limit: 10).receipts.count == 1)
      try connection.execute("UPDATE pushrelay.receipt_chunk SET codes=set_byte(codes,0,2)")
      let reads: [@Sendable () async throws -> Void] = [
        { _ = try await store.settledDevices(of: task, rowReceipts: false) },
        { _ = try await store.receipts(id, outcome: nil, after: DeviceID(0), limit: 10) },
      ]
      for read in reads {
        let error = await #expect(throws: StoreError.self) { try await read() }
        #expect(error?.isTransient == false && error?.description.contains("\(id)") == true)
      }
      #expect(try connection.execute("SELECT get_byte(codes,0) FROM pushrelay.receipt_chunk") == "2")
      await store.close()
    }
  }

  @Test("A notification for a target that only a later version knows is parked, and whole for who can read it")
  func laterTarget() async throws {
    try await Database.with { location, _ in
      let clocks = DrivenClocks()
      let store = try await PostgreSQLStore.open(location, clocks: clocks)
      _ = try await store.bind([.example])
      let later = try await publish(store, "aa")
      let known = try await publish(store, "bb")
      let connection = try connection(location)
      func writeVersion(_ version: Int) throws {
        try connection.execute(
          """
          UPDATE pushrelay.notification SET target=set_byte(target,0,\(version)) WHERE notification_id=\(later.rawValue)
          """)
      }
      try writeVersion(2)

      #expect(try await Array(store.notifications([later, known]).keys) == [known])
      for task in try await claim(store) where task.notificationID == known { try await deliver(task, store) }
      for _ in 1...5 {
        clocks.advance(by: .seconds(16))
        _ = try await store.reap(except: [])
        _ = try await claim(store)
      }
      #expect(try await store.status(later)?.state == .parked)
      #expect(try await store.status(known)?.state == .done)

      try writeVersion(1)
      #expect(try await store.unpark(later) == 1)
      try await deliver(try #require(try await claim(store).first), store)
      #expect(try await store.status(later)?.counts.accepted == 1)
      await store.close()
    }
  }

  @Test("While the database is migrated by a later version, one that has it open goes on; it is not let in again")
  func migratedWhileOpen() async throws {
    let server = try await PostgreSQLServer.running()
    try await server.withDatabase { uri in
      let location = PostgreSQLLocation(uri)
      let older = try await PostgreSQLStore.open(location)
      _ = try await older.bind([.example])
      _ = try await publish(older, "aa")
      let task = try #require(try await claim(older).first)
      let later =
        Migrations.all + [
          "ALTER TABLE task ADD COLUMN later integer NOT NULL DEFAULT 7; CREATE TABLE later(a integer);"
        ]
      let connection = try connection(location)
      #expect(try Migrations.apply(later, to: connection).to == later.count)

      try await deliver(task, older)
      let second = try await publish(older, "bb")
      #expect(try connection.execute("SELECT later FROM pushrelay.task") == "7")
      try await deliver(try #require(try await claim(older).first), older)
      #expect(try await older.status(second)?.state == .done)
      let error = await #expect(throws: StoreError.self) { _ = try await PostgreSQLStore.open(location) }
      #expect(error?.code == .unusable && error?.remedy.contains("version") == true)
      await older.close()
    }
  }
}
