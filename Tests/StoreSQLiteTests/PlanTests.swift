import Operations
import PushCore
import Support
import Testing

@testable import StoreSQLite

/// How SQLite runs the statements: none may read through a table that grows with devices, notifications or receipts.
@Suite(.timeLimit(.minutes(1))) struct PlanTests {
  /// Tables that stay small: apps and what signs for them, the arguments of a statement, and 500 webhooks that are due.
  private static let smallTables = ["app", "a", "credential", "c", "json_each", "CONSTANT", "meta", "t", "due"]

  @Test("No statement scans a table that grows")
  func plans() async throws {
    try await withTemporaryDirectory { directory in
      let store = try await SQLiteStore.open(directory.path(of: "relay.db"))
      try await useEverything(store)

      let plans =
        try await store.write { (transaction) throws(StoreError) in try transaction.connection.plans() }
        + store.walk { (transaction) throws(StoreError) in try transaction.connection.plans() }
        + store.read { (transaction) throws(StoreError) in try transaction.connection.plans() }
      await store.close()

      #expect(plans.count > 60)
      for plan in plans {
        for step in plan.steps where step.hasPrefix("SCAN ") {
          let words = step.split(separator: " ")
          let isSmall = words.count > 1 && Self.smallTables.contains(String(words[1]))
          // Leased tasks are as many as workers have open.
          let isBounded = step.contains("task_leased") || step.contains("VIRTUAL TABLE")
          #expect(isSmall || isBounded, "\(step) in \(plan.statement)")
        }
      }
    }
  }

  /// A claim finds its tasks by the index of ready ones, whatever else the table holds.
  @Test("A claim looks only at due tasks of its lane")
  func claimPlan() async throws {
    try await withTemporaryDirectory { directory in
      let store = try await SQLiteStore.open(directory.path(of: "relay.db"))
      try await useEverything(store)
      let plans = try await store.write { (transaction) throws(StoreError) in try transaction.connection.plans() }
      await store.close()

      let claim = try #require(plans.first { $0.statement.contains("k.lane=?4") })
      #expect(claim.steps.contains { $0.contains("task_ready (lane=? AND due_at>? AND due_at<?)") })
      let reap = try #require(plans.first { $0.statement.contains("lease_until<?1") })
      #expect(reap.steps.contains { $0.contains("task_leased") })
      let held = try #require(plans.first { $0.statement.contains("WHERE k.state=3 AND k.expires_at") })
      #expect(held.steps.contains { $0.contains("task_held (app_id=?") })
    }
  }

  private func useEverything(_ store: SQLiteStore) async throws {
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
    _ = try await store.setSubscription(
      topic: topic, environment: nil, token: tokens[0], interest: "other", subscribed: true)
    _ = try await store.setSubscription(
      topic: topic, environment: nil, token: tokens[0], interest: "other", subscribed: false)
    _ = try await store.removeDevice(topic: topic, environment: nil, token: tokens[3])
    for change in [{ $0.token = tokens[0] }, { $0.interest = "news" }, { $0.user = "ada" }, { _ in }]
      as [(inout DeviceQuery) -> Void]
    {
      var query = DeviceQuery()
      change(&query)
      _ = try await store.devices(query, after: DeviceID(0), limit: 10)
    }
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
    await store.onNewWork { _ in }
  }

  private func useOverview(_ store: SQLiteStore) async throws {
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

  private func useWebhooks(_ store: SQLiteStore) async throws {
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

  private func useRecipients(_ store: SQLiteStore) async throws {
    let target = PackedTarget(
      interests: [InterestID(1)], users: ["ada"], devices: [], everyone: false, reachesUnverifiedUsers: false)
    var values = RecipientValues(names: [])
    (values.interests, values.users) = ([[]], [[]])
    let substitutions = Substitutions(
      values, of: Target(interests: ["news"], users: ["ada"]), interests: target.interests, devices: [])
    _ = try await store.entries([RecipientRead([DeviceID(1)], RecipientOrder(target, substitutions))])
  }

  private func publishAndDeliver(
    _ store: SQLiteStore, _ target: Target, _ lane: Lane, _ credentials: [CredentialID]
  ) async throws {
    let result = try await store.publish(
      Publication(
        topic: AppBinding.example.topic, target: target, payload: [],
        headers: PushHeaders(pushType: .alert, priority: .low),
        lane: lane, idempotencyKey: IdempotencyKey(scope: 0, key: "\(target)\(lane)", requestHash: [1])))
    guard case .stored(let id, _) = result else { return }
    let request = ClaimRequest(
      lane: lane, owner: 1, lease: .seconds(15), window: .seconds(60), credentials: credentials, limit: 10)
    for task in try await store.claim(request) {
      let notification = try #require(try await store.notification(id))
      let window = try await walk(store, task, notification)
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
      let lists = [
        NewList(
          devices: Array(window.ids.prefix(1)), delay: .zero, credentialID: nil, isCounted: true, isHeld: false)
      ]
      let flush = TaskFlush(
        task: task.id, notificationID: id, epoch: task.epoch, settledBefore: 0, attempt: 0, cursor: task.cursor,
        count: window.count, receipts: receipts, counts: Counts(), lists: lane == .normal ? lists : [],
        ends: lane != .urgent, cut: false)
      let retirement = Retirement(
        device: DeviceID(1), registeredBefore: UnixMilliseconds(0), reason: ReasonID(1))
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
    _ store: SQLiteStore, _ task: LeasedTask, _ notification: StoredNotification
  ) async throws -> DeviceWindow {
    let credentials = try await store.credentials().map(\.id)
    let sources: [WalkSource] =
      notification.target.interests.map { .interest($0) } + [
        .users(["ada"], unverifiedToo: true), .everyone,
      ]
    var window = DeviceWindow()
    for source in sources {
      for signable in [credentials, [credentials[0]]] {
        let request = WalkRequest(
          source: source, after: task.cursor, hi: task.hi, sequenceLimit: task.sequenceLimit, credentials: signable,
          limit: 10)
        window = try await store.read([.walk(request)])[0]
      }
    }
    return try await store.read([.named(window.ids, of: notification.target)])[0]
  }
}

/// What SQLite means to do for one statement.
private struct Plan: Sendable {
  var statement: String
  var steps: [String]
}

extension Connection {
  /// The plans of all statements used so far.
  fileprivate func plans() throws(StoreError) -> [Plan] {
    var plans: [Plan] = []
    for text in statementTexts where !text.hasPrefix("EXPLAIN") && !text.contains("sqlite_schema") {
      var plan = Plan(statement: text, steps: [])
      try rows(text: "EXPLAIN QUERY PLAN " + text, []) { (row) throws(StoreError) in plan.steps.append(row.text(3)) }
      plans.append(plan)
    }
    return plans
  }
}
