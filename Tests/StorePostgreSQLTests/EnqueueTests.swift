import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// `pushrelay.enqueue` takes what PushCore takes, refuses what it refuses, and writes the rows that `publish` writes.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(2)))
struct EnqueueTests {
  @Test("Through SQL and through the store, the same notification becomes the same rows")
  func sameRows() async throws {
    try await withApp { store, connection in
      for (number, request) in EnqueueCases.accepted.enumerated() {
        // Whoever comes first makes interests and devices.
        let ids: [String]
        if number.isMultiple(of: 2) {
          ids = [try await publish(request, store), try enqueue(request, connection)]
        } else {
          ids = [try enqueue(request, connection), try await publish(request, store)]
        }
        let written = try ids.map { try rows(of: $0, connection) }
        #expect(written[0] != nil && written[0] == written[1], "\(request)")
        #expect(ids.allSatisfy { NotificationID(text: $0) != nil } && ids[0] != ids[1])
      }
    }
  }

  @Test("In an app with two environments, one paused, paused whole, and with a wide audience the rows are the same too")
  func sameRowsElsewhere() async throws {
    try await withApp { store, connection in
      let credentials = try await store.bind([
        .example,
        AppBinding(
          topic: AppBinding.example.topic, environment: .sandbox, teamID: "TEAM123456", keyID: "KEY1234567"),
      ]).map(\.id)
      func compare() async throws {
        for request in EnqueueCases.targets {
          let ids = [try enqueue(request, connection), try await publish(request, store)]
          #expect(try rows(of: ids[0], connection) == rows(of: ids[1], connection), "\(request)")
        }
      }

      try await compare()
      try connection.execute(
        "UPDATE pushrelay.interest SET approx_size=60001; UPDATE pushrelay.credential SET approx_devices=30000")
      try await compare()
      try await store.hold([credentials[0]], reason: "operator")
      try await compare()
      try await store.hold(credentials, reason: "operator")
      try await compare()
    }
  }

  @Test("What PushCore refuses is refused in SQL, with the argument's name, and what it takes is taken")
  func sameFaults() async throws {
    try await withApp { _, connection in
      for (argument, request) in EnqueueCases.refused {
        #expect(throws: NotificationFaults.self, "\(request)") { _ = try publication(request) }
        do {
          try enqueue(request, connection)
          Issue.record("SQL takes \(request)")
        } catch let error as StoreError {
          #expect(error.underlying.contains("pushrelay.enqueue: "), "\(error)")
          #expect(error.underlying.contains("\(argument)"), "\(error)")
          #expect(connection.failure == SQLState("22023"), "\(error)")
        }
      }
      #expect(try connection.execute("SELECT count(*) FROM pushrelay.notification") == "0")
      #expect(try connection.execute("SELECT count(*) FROM pushrelay.interest") == "0")
    }
  }

  @Test("Every fault is said at once, with what to do, and none repeats payload or token")
  func allFaults() async throws {
    try await withApp { _, connection in
      try connection.execute(
        """
        CREATE TEMP TABLE said(message text, detail text, hint text);
        DO $$ DECLARE m text; d text; h text; BEGIN
          PERFORM pushrelay.enqueue('com.example.app', '{"secret"}', interests=>'{a b}', tokens=>'{cafe1}', lane=>'x');
        EXCEPTION WHEN OTHERS THEN
          GET STACKED DIAGNOSTICS m=MESSAGE_TEXT, d=PG_EXCEPTION_DETAIL, h=PG_EXCEPTION_HINT;
          INSERT INTO said VALUES(m,d,h);
        END $$;
        """)
      let message = try connection.execute("SELECT message FROM said") ?? ""
      #expect(
        ["payload: ", "interests[1]: ", "tokens[1]: ", "lane: "].allSatisfy { message.contains($0) }, "\(message)")
      #expect(!message.contains("secret") && !message.contains("cafe1"))
      #expect(try connection.execute("SELECT detail FROM said") == "Nothing was enqueued.")
      #expect(try connection.execute("SELECT hint<>'' FROM said") == "t")
    }
  }

  @Test("The rules of push types are PushCore's")
  func pushTypes() async throws {
    try await withApp { _, connection in
      #expect(
        try connection.execute("SELECT count(*) FROM pushrelay.push_type_rule") == String(PushType.allCases.count))
      for type in PushType.allCases {
        let rules = type.rules
        let others = rules.allowedPriorities.filter { $0 != rules.defaultPriority }
        let priorities = ([rules.defaultPriority] + others).map { String($0.rawValue) }.joined(separator: ",")
        let row = try connection.execute(
          """
          SELECT concat_ws('|', topic_suffix, priorities, payload_limit, requires_aps) FROM pushrelay.push_type_rule
          WHERE push_type='\(type.rawValue)'
          """)
        #expect(
          row == "\(rules.topicSuffix)|{\(priorities)}|\(rules.payloadLimitBytes)|\(rules.requiresAps ? "t" : "f")")
      }
    }
  }

  @Test("A new token's device lies in the bucket that every store computes")
  func buckets() async throws {
    try await withApp { store, connection in
      let tokens = (1...50).map { String(repeating: String($0 * 7919, radix: 16), count: 8) }.map {
        DeviceToken(stored: $0.utf8.count.isMultiple(of: 2) ? $0 : $0 + "0")
      }
      try enqueue(EnqueueCases.request { $0.tokens = tokens.map { "<\($0.text.uppercased())>" } }, connection)
      for token in tokens {
        let bucket = try connection.execute("SELECT device_id>>40 FROM pushrelay.device WHERE token='\(token.text)'")
        #expect(bucket == String(DeviceID.bucket(of: token)))
      }
    }
  }

  @Test("One key enqueues once for one notification, is refused for another, and is free again when rolled back")
  func idempotency() async throws {
    try await withApp { _, connection in
      let call =
        "SELECT pushrelay.enqueue('com.example.app', '{\"aps\":{\"alert\":1}}', users=>'{a}', idempotency_key=>"
      try connection.execute("BEGIN; \(call)'k'); ROLLBACK")
      let first = try connection.execute("\(call)'k')")
      #expect(try connection.execute("SET TimeZone='Asia/Tokyo'; SET IntervalStyle=iso_8601; \(call)'k')") == first)
      #expect(throws: StoreError.self) { try connection.execute("\(call)'k', lane=>'bulk')") }
      #expect(connection.failure == SQLState("23505"))
      #expect(try connection.execute("\(call)'l')") != first)
      #expect(try connection.execute("SELECT count(*) FROM pushrelay.notification") == "2")
    }
  }

  @Test("A topic of a known app is made known, paused with it; one of no app is refused")
  func topics() async throws {
    try await withApp { store, connection in
      let credentials = try await store.credentials().map(\.id)
      try await store.hold(credentials, reason: "operator")
      try enqueue(EnqueueCases.request { $0.pushType = "voip" }, connection)
      let made = try await store.credentials().filter { $0.topic == "com.example.app.voip" }
      #expect(made.map(\.heldReason) == ["operator"] && made.map(\.keyID) == ["KEY1234567"])
      #expect(try connection.execute("SELECT state FROM pushrelay.task") == "3")

      for topic in ["com.example.other", "com.example.other.voip"] {
        let error = #expect(throws: StoreError.self) {
          try enqueue(EnqueueCases.request { $0.topic = topic }, connection)
        }
        #expect(error?.underlying.contains("topic: no app has the topic \(topic)") == true)
      }
    }
  }

  @Test("wake is heard by the workers' processes")
  func wake() async throws {
    try await withApp { store, connection in
      let heard = Lock<Set<Lane>>([])
      let signal = Signal()
      await store.onNewWork { lane in
        if heard.withLock({ $0.insert(lane).inserted && $0.count == Lane.allCases.count }) { signal.fire() }
      }
      try connection.execute("SELECT pushrelay.wake()")
      await signal.wait()
      #expect(heard.withLock { $0 } == Set(Lane.allCases))
    }
  }

  // MARK: What the tests say often

  private func withApp(_ body: (PostgreSQLStore, Connection) async throws -> Void) async throws {
    try await Database.with { location, _ in
      let store = try await PostgreSQLStore.open(location)
      _ = try await store.bind([.example])
      let users = (1...3).map {
        DeviceRegistration(
          topic: AppBinding.example.topic, environment: .production, token: DeviceToken(stored: "a\($0)"),
          user: .set("ada"), userIsVerified: $0 > 1)
      }
      _ = try await store.register(users)
      try await body(store, Connection(location, patience: .seconds(10), answerTime: .seconds(20)))
      await store.close()
    }
  }

  private func publication(_ request: NotificationRequest) throws(NotificationFaults) -> Publication {
    try request.publication(now: SystemClocks().wallTime(), defaults: NotificationDefaults()).publication
  }

  private func publish(_ request: NotificationRequest, _ store: PostgreSQLStore) async throws -> String {
    guard case .stored(let id, _) = try await store.publish(publication(request)) else {
      throw SupportError("not stored: \(request)")
    }
    return id.description
  }

  @discardableResult
  private func enqueue(_ request: NotificationRequest, _ connection: Connection) throws -> String {
    try connection.execute(EnqueueCases.call(request)) ?? ""
  }

  /// All that the two ways write, but for ids and the time of the call.
  private func rows(of id: String, _ connection: Connection) throws -> String? {
    try connection.execute(
      """
      SELECT jsonb_build_array(
        to_jsonb(n)-'{notification_id,created_at,not_before,expires_at}'::text[], n.expires_at-n.not_before,
        CASE WHEN n.not_before>n.created_at THEN n.not_before END,
        n.notification_id>>12=(extract(epoch FROM n.created_at)*1000)::bigint-1577836800000,
        to_jsonb(s)-'notification_id',
        (SELECT jsonb_agg(to_jsonb(t)-'{task_id,notification_id,due_at,expires_at}'::text[]
          ||jsonb_build_object('due',t.due_at=n.not_before,'end',t.expires_at=n.expires_at) ORDER BY t.lo)
          FROM pushrelay.task t WHERE t.notification_id=n.notification_id))
      FROM pushrelay.notification n JOIN pushrelay.notification_state s ON s.notification_id=n.notification_id
      WHERE n.notification_id=\(id)
      """)
  }
}
