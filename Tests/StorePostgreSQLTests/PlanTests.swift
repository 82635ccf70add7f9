import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// How PostgreSQL runs the statements: none may read through a table that grows with devices, notifications or receipts.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(2)))
struct PlanTests {
  /// Tables that grow. Apps and what signs for them are few.
  private static let growing = [
    "device", "interest", "subscription", "notification", "notification_state", "notification_total", "idempotency",
    "task", "receipt", "receipt_chunk", "reason", "beams_publish",
  ]

  @Test("No statement scans a table that grows")
  func plans() async throws {
    try await Database.with { location, _ in
      let store = try await PostgreSQLStore.open(location)
      try await useEverything(store)
      let plans = try await allPlans(store)
      await store.close()

      #expect(plans.count > 55)
      for plan in plans {
        for (number, line) in plan.lines.enumerated() {
          // Before the first ANALYZE an index of two columns may be used for the first alone: all devices of an app.
          let isOfToken = number > 0 && plan.lines[number - 1].contains("device_token")
          #expect(!isOfToken || line.contains("token = "), "\(line) in \(plan.statement)")
          guard let scanned = line.firstRange(of: "Seq Scan on ") else { continue }
          let table = line[scanned.upperBound...].prefix { $0 != " " }.replacing("_default", with: "")
          #expect(!Self.growing.contains(String(table)), "\(line) in \(plan.statement)")
        }
      }
    }
  }

  /// With a table as it is after a long day: a claim finds its tasks by the index of ready ones, whatever else there is.
  @Test("In a full table a claim, a flush and a walk touch only what they need")
  func fullTables() async throws {
    try await Database.with { location, server in
      let store = try await PostgreSQLStore.open(location)
      try await useEverything(store)
      try await server.sql(
        """
        SET search_path=pushrelay;
        INSERT INTO device(device_id,credential_id,token,registered_at)
          SELECT (g.i%4096)::bigint<<40|(1000+g.i), 1, 'x'||g.i, now() FROM generate_series(1,20000) g(i);
        INSERT INTO subscription SELECT i, device_id FROM device, generate_series(1,3) i ON CONFLICT DO NOTHING;
        INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,lo,hi,cursor,state)
          SELECT g.i, 1, 1, 1, now()+interval '1 day', now()+interval '2 days', 0, 1, 0, g.i%4 FROM generate_series(1,20000) g(i);
        ANALYZE;
        """, at: location.uri.reveal())
      let plans = try await allPlans(store)
      await store.close()

      func plan(_ words: String) throws -> [String] {
        try #require(plans.first { $0.statement.contains(words) }, "\(words)").lines
      }
      let claim = try plan("k.lane=$4")
      #expect(claim.contains { $0.contains("Index Scan using task_ready on task k") }, "\(claim)")
      #expect(
        claim.contains { $0.contains("Index Scan using task_pkey") || $0.contains("Bitmap Index Scan on task_pkey") })
      let flush = try plan("UPDATE task SET cursor=")
      #expect(flush.contains { $0.contains("Index Cond: (task_id = ANY ($3))") }, "\(flush)")
      let held = try plan("k.state=3 AND k.expires_at")
      #expect(held.contains { $0.contains("task_held") }, "\(held)")
      let reap = try plan("lease_until<$1")
      #expect(reap.contains { $0.contains("task_leased") }, "\(reap)")
      let walk = try plan("FROM subscription s,")
      #expect(walk.contains { $0.contains("Index Cond: ((interest_id = $1) AND (device_id > $2)") }, "\(walk)")
      #expect(walk.contains { $0.contains("Index Cond: (device_id = s.device_id)") }, "\(walk)")
      #expect(!walk.contains { $0.contains("Sort") }, "\(walk)")
      let users = try plan("FROM unnest($1) u(user_id)")
      #expect(users.contains { $0.contains("Index Cond: ((user_id = u.user_id) AND (device_id > $2)") }, "\(users)")
      let member = try plan("IS TRUE")
      #expect(!member.contains { $0.contains("Seq Scan") || $0.contains("hashed") }, "\(member)")
      let entries = try plan("array_position")
      #expect(entries.contains { $0.contains("device_id = d.device_id") && $0.contains("Index Cond") }, "\(entries)")
    }
  }

  /// Rows of tasks that ended cannot go while a transaction that began before is open, and the index leads to them.
  @Test("While an old transaction keeps dead rows, a claim reads only those of the last minute")
  func heldRows() async throws {
    try await Database.with { location, server in
      let store = try await PostgreSQLStore.open(location)
      let credentials = try await store.bind([.example]).map(\.id)
      let old = try Connection(location, patience: .seconds(10), answerTime: .seconds(60))
      try old.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pushrelay.task")
      try await server.sql(
        """
        SET search_path=pushrelay;
        INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,lo,hi,cursor)
          SELECT g.i, 1, 1, 1, now()-interval '10 minutes', now()+interval '1 day', 0, 1, 0 FROM generate_series(1,20000) g(i);
        DELETE FROM task;
        """, at: location.uri.reveal())
      _ = try await store.claim(
        ClaimRequest(lane: .normal, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 1))

      let lastMinute = try await pagesOfClaim(store, since: "now()-interval '60 s'")
      let all = try await pagesOfClaim(store, since: "'-infinity'")
      try old.execute("COMMIT")
      await store.close()

      #expect(lastMinute >= 0 && lastMinute < 50, "\(lastMinute) pages")
      #expect(all > 200, "the dead rows are gone: \(all) pages")
    }
  }

  @Test("A claim among two hundred thousand scheduled tasks reads as little as among none")
  func manyScheduled() async throws {
    try await Database.with { location, server in
      let store = try await PostgreSQLStore.open(location)
      let credentials = try await store.bind([.example]).map(\.id)
      let request = ClaimRequest(
        lane: .normal, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 10)
      _ = try await store.claim(request)
      try await server.sql(
        """
        SET search_path=pushrelay;
        INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,lo,hi,cursor)
          SELECT g.i, 1, 1, 1, now()+interval '20 days'+g.i*interval '1 s', now()+interval '30 days', 0, 1, 0
          FROM generate_series(1,200000) g(i);
        """, at: location.uri.reveal())

      let pages = try await pagesOfClaim(store, since: "'-infinity'")
      #expect(try await store.claim(request).isEmpty)
      await store.close()
      #expect(pages >= 0 && pages < 50, "\(pages) pages")
    }
  }

  // MARK: Plans

  /// How many pages a claim of what became due since `bound` reads.
  private func pagesOfClaim(_ store: PostgreSQLStore, since bound: String) async throws -> Int {
    try await store.write { (transaction) throws(StoreError) in
      let connection = transaction.connection
      let name = try connection.query(
        text: "SELECT name FROM pg_prepared_statements WHERE statement LIKE '%k.lane=$4%'", []
      ).rows.first { _ in true }?.text(0)
      let arguments = "1, now()+interval '15 s', now(), 1, \(bound), '{1}', 1"
      let lines = try connection.query(
        text: "EXPLAIN (ANALYZE, BUFFERS) EXECUTE \(name ?? "")(\(arguments))", []
      ).rows.map { $0.text(0) }
      let buffers = lines.first { $0.contains("Buffers: shared hit=") } ?? ""
      return Int(buffers.drop { $0 != "=" }.dropFirst().prefix { $0.isNumber }) ?? -1
    }
  }

  private struct Plan: Sendable {
    var statement: String
    var lines: [String]
  }

  private func allPlans(_ store: PostgreSQLStore) async throws -> [Plan] {
    let explain: @Sendable (Transaction) throws(StoreError) -> [Plan] = { (transaction) throws(StoreError) in
      let connection = transaction.connection
      var plans: [Plan] = []
      let statements = try connection.query(
        text: "SELECT name, statement, cardinality(parameter_types) FROM pg_prepared_statements ORDER BY name", []
      ).rows.map { ($0.text(0), $0.text(1), $0.count(2)) }
      // Calls of plpgsql functions and sequences have no plan worth a look.
      for (name, text, count) in statements where text.contains("FROM ") || text.contains("UPDATE ") {
        let arguments = count == 0 ? "" : "(" + Array(repeating: "NULL", count: count).joined(separator: ",") + ")"
        let lines = try connection.query(text: "EXPLAIN EXECUTE \(name)\(arguments)", []).rows.map { $0.text(0) }
        plans.append(Plan(statement: text, lines: lines))
      }
      return plans
    }
    return try await store.write(explain) + store.write(isUrgent: true, explain) + store.walk(explain)
      + store.read(explain)
  }

  // MARK: Everything

  private func useEverything(_ store: PostgreSQLStore) async throws {
    let topic = AppBinding.example.topic
    let credentials = try await store.bind([
      .example, AppBinding(topic: topic, environment: .sandbox, teamID: "TEAM123456", keyID: "KEY1234567"),
    ]).map(\.id)
    let tokens = (10..<14).map { DeviceToken(stored: "\($0)") }
    for _ in 0..<2 {
      _ = try await store.register(
        tokens.map {
          DeviceRegistration(
            topic: topic, environment: .production, token: $0, user: .set("ada"), interests: .set(["news"]))
        })
    }
    for subscribed in [true, false] {
      _ = try await store.setSubscription(
        topic: topic, environment: nil, token: tokens[0], interest: "other", subscribed: subscribed)
    }
    _ = try await store.removeDevice(topic: topic, environment: nil, token: tokens[3])
    var query = DeviceQuery()
    query.interest = "news"
    _ = try await store.devices(query, after: DeviceID(0), limit: 10)
    for target in [Target(interests: ["news"]), Target(users: ["ada"]), Target(tokens: tokens), Target(everyone: true)]
    {
      for lane in Lane.allCases { try await publishAndDeliver(store, target, lane, credentials) }
    }
    try await store.hold([credentials[0]], reason: "operator")
    _ = try await store.claimExpired(owner: 1, lease: .seconds(15), limit: 10)
    try await store.resume([credentials[0]])
    try await store.signerSeen(credentials)
    try await store.sweep()
    _ = try await store.reap(except: [])
    _ = try await store.removeOld(payloadsAfter: .zero, receiptsAfter: .seconds(86_400))
    _ = try await store.removeOld(payloadsAfter: .zero, receiptsAfter: .seconds(-60))
    _ = try await store.reasonID(for: "new")
    try await useOverview(store)
    try await useRecipients(store)
  }

  private func useOverview(_ store: PostgreSQLStore) async throws {
    for state in [nil, NotificationState.queued, .done] {
      _ = try await store.notifications(NotificationQuery(state: state), before: nil, limit: 10)
    }
    let place = RetirementPlace(at: UnixMilliseconds(0), device: DeviceID(0))
    _ = try await store.retiredDevices(topics: nil, after: place, limit: 10)
    _ = try await store.subscriberCount(of: "news", topics: nil)
    _ = try await store.backlog()
    let key = try await store.addAPIKey(name: "one", secretSHA256: [1], topics: nil, actions: nil)
    _ = try await store.apiKey(key.id)
    _ = try await store.apiKeys()
    try await store.noteUse(of: key.id)
    _ = try await store.revokeAPIKey(key.id)
    _ = try await store.removeUser("ada", topics: nil)
    try await useWebhooks(store)
  }

  private func useWebhooks(_ store: PostgreSQLStore) async throws {
    let publication = Publication(
      topic: AppBinding.example.topic, target: Target(interests: ["news"]), payload: [],
      headers: PushHeaders(pushType: .alert, priority: .low), lane: .normal)
    let webhook = Webhook(url: SecretText("https://example.com"), requestBody: [])
    let ids = try await store.publish([publication], publishID: "p", instance: "i", webhook: webhook)
    for _ in 0..<3 {
      for message in try await store.claimWebhooks(lease: .seconds(60), limit: 9) {
        _ = try await store.settle(message, as: .again(after: .zero))
        for message in try await store.claimWebhooks(lease: .seconds(60), limit: 9) {
          _ = try await store.settle(message, as: .ended)
        }
      }
      for id in ids { _ = try await store.cancel(id) }
    }
  }

  private func useRecipients(_ store: PostgreSQLStore) async throws {
    let target = PackedTarget(
      interests: [InterestID(1)], users: ["ada"], devices: [], everyone: false, reachesUnverifiedUsers: false)
    var values = RecipientValues(names: [])
    (values.interests, values.users) = ([[]], [[]])
    let substitutions = Substitutions(
      values, of: Target(interests: ["news"], users: ["ada"]), interests: target.interests, devices: [])
    _ = try await store.entries([RecipientRead([DeviceID(1)], RecipientOrder(target, substitutions))])
  }

  private func publishAndDeliver(
    _ store: PostgreSQLStore, _ target: Target, _ lane: Lane, _ credentials: [CredentialID]
  ) async throws {
    let result = try await store.publish(
      Publication(
        topic: AppBinding.example.topic, target: target, payload: [],
        headers: PushHeaders(pushType: .alert, priority: .low), lane: lane,
        idempotencyKey: IdempotencyKey(scope: 0, key: "\(target)\(lane)", requestHash: [1])))
    guard case .stored(let id, _) = result else { return }
    let request = ClaimRequest(
      lane: lane, owner: 1, lease: .seconds(15), window: .seconds(60), credentials: credentials, limit: 10)
    for task in try await store.claim(request) {
      let window = try await walk(store, task, try #require(try await store.notification(id)), credentials)
      let lease = LeaseReference(task: task.id, epoch: task.epoch)
      _ = try await store.settledDevices(of: task, rowReceipts: lane != .bulk)
      _ = try await store.renew([lease], owner: 1, lease: .seconds(15))
      let rows = window.ids.map {
        ReceiptRow(
          device: $0, outcome: .accepted, status: 200, reason: .none, tries: 1, latencyMilliseconds: 1,
          apnsUniqueID: nil)
      }
      let receipts: TaskFlush.Receipts =
        lane == .bulk ? .packed(ReceiptChunk(devices: window.ids, exceptions: [])) : .rows(rows)
      let list = NewList(
        devices: Array(window.ids.prefix(1)), delay: .zero, credentialID: nil, isCounted: true, isHeld: false)
      var counts = Counts()
      counts.devices = window.count
      let flush = TaskFlush(
        task: task.id, notificationID: id, epoch: task.epoch, settledBefore: 0, attempt: 0, cursor: task.cursor,
        count: window.count, receipts: receipts, counts: counts, lists: lane == .normal ? [list] : [],
        ends: lane != .urgent, cut: false)
      let retirement = Retirement(device: DeviceID(1), registeredBefore: UnixMilliseconds(0), reason: ReasonID(1))
      _ = try await store.flush([flush], retirements: [retirement], owner: 1, lease: .seconds(15))
      if lane == .urgent {
        let middle = DeviceID(1 << 50)
        _ = try await store.split(
          lease, into: [(lo: task.lo, hi: middle), (lo: middle, hi: task.hi)], lane: .normal, owner: 1)
      }
    }
    _ = try await store.status(id)
    _ = try await store.receipts(id, outcome: nil, after: DeviceID(0), limit: 1)
    _ = try await store.cancel(id)
    _ = try await store.unpark(id)
  }

  private func walk(
    _ store: PostgreSQLStore, _ task: LeasedTask, _ notification: StoredNotification, _ credentials: [CredentialID]
  ) async throws -> DeviceWindow {
    let sources: [WalkSource] =
      notification.target.interests.map { .interest($0) } + [.users(["ada"], unverifiedToo: true), .everyone]
    var window = DeviceWindow()
    for source in sources {
      let request = WalkRequest(
        source: source, after: task.cursor, hi: task.hi, sequenceLimit: task.sequenceLimit, credentials: credentials,
        limit: 10)
      window = try await store.read([.walk(request)])[0]
    }
    return try await store.read([.named(window.ids, of: notification.target)])[0]
  }
}
