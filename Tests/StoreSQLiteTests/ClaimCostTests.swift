import Operations
import PushCore
import Support
import Testing

@testable import StoreSQLite

/// What a claim costs when much waits, or while somebody reads without end.
@Suite(.timeLimit(.minutes(2))) struct ClaimCostTests {
  private func publish(_ store: SQLiteStore, _ number: Int, payloadBytes: Int = 20) async throws -> NotificationID {
    let text = String(number)
    let token = String(repeating: "0", count: 64 - text.count) + text
    let result = try await store.publish(
      Publication(
        topic: AppBinding.example.topic, target: Target(tokens: [DeviceToken(stored: token)]),
        payload: Array(repeating: 0x61, count: payloadBytes),
        headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .normal))
    guard case .stored(let id, _) = result else { throw SupportError("publish answered \(result)") }
    return id
  }

  /// What a call takes, at half of fifty times.
  private func median(_ call: () async throws -> Void) async throws -> Duration {
    let clocks = SystemClocks()
    var times: [Duration] = []
    for _ in 0..<50 {
      let start = clocks.monotonicTime()
      try await call()
      times.append(clocks.monotonicTime().since(start))
    }
    return times.sorted()[25]
  }

  @Test("A claim among two hundred thousand scheduled tasks looks at none of them")
  func manyScheduled() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let store = try await SQLiteStore.open(path)
      _ = try await store.bind([.example])
      let connection = try Connection(path: path, busyTimeout: .seconds(10))
      try connection.execute(
        """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<200000)
        INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,lo,hi,cursor)
          SELECT i, 1, 1, 1, 9000000000000+i, 9900000000000, 0, 1, 0 FROM n
        """)
      let due = try await publish(store, 1)
      let credentials = try await store.credentials().map(\.id)
      let request = ClaimRequest(
        lane: .normal, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 10)

      #expect(try await store.claim(request).map(\.notificationID) == [due])
      // From now on nothing is due, so that no time of the disk is in it.
      let claim = try await median { _ = try await store.claim(request) }
      let scan = try await median { _ = try connection.number("SELECT count(*) FROM task WHERE settled>0") }
      #expect(claim * 4 < scan, "\(claim) to claim, \(scan) to read all")
      await store.close()
    }
  }

  @Test("A reader that never ends raises an alarm once, and claims go on")
  func endlessReader() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let events = Watched<[SQLiteStoreEvent]>([])
      var options = SQLiteStore.Options()
      options.alarmingLogBytes = 3_000_000
      options.onEvent = { event in events.update { $0.append(event) } }
      let store = try await SQLiteStore.open(path, options: options)
      _ = try await store.bind([.example])
      let endless = try Connection(path: path, busyTimeout: .seconds(1))
      try endless.execute("BEGIN; SELECT * FROM app")

      var number = 0
      let deadline = SystemClocks().monotonicTime() + .seconds(60)
      while events.current.isEmpty, SystemClocks().monotonicTime() < deadline {
        for _ in 0..<50 {
          number += 1
          _ = try await publish(store, number, payloadBytes: 4000)
        }
      }
      guard case .logTooLarge(let bytes) = events.current.first else {
        Issue.record("no alarm: \(events.current)")
        return
      }
      #expect(bytes > 3_000_000)
      let credentials = try await store.credentials().map(\.id)
      let tasks = try await store.claim(
        ClaimRequest(lane: .normal, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 10))
      #expect(tasks.count == 10)
      // Of a lane without work, so that no time of the disk is in it.
      let look = ClaimRequest(
        lane: .urgent, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 10)
      #expect(try await median { _ = try await store.claim(look) } < .milliseconds(5))
      try endless.execute("COMMIT")
      await store.close()
      #expect(events.current.count == 1)
    }
  }
}
