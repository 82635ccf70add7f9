import Operations
import PushCore
import StoreSQLite
import Support

/// An SQLite store with something of everything in it.
struct Filled {
  static let app = AppBinding(
    topic: "com.example.app", environment: .production, teamID: "TEAM123456", keyID: "KEY1234567")
  static let otherApp = AppBinding(topic: "com.example.other", environment: .sandbox, teamID: nil, keyID: nil)

  let path: String
  /// Devices of the interest "news".
  let devices = 1500
  /// Those of them that have had their push; the first is tried again.
  private(set) var sent: [DeviceID] = []
  /// A device of the urgent notification that was settled beyond the cursor.
  private(set) var settledAhead = DeviceID(0)
  /// What was published with an idempotency key, and its id.
  private(set) var keyed: Publication
  private(set) var keyedID = NotificationID(0)
  /// A reason that only the store knows.
  private(set) var reason = ReasonID.none
  private var ids: [NotificationID] = []

  init(_ path: String) async throws {
    self.path = path
    keyed = Self.publication(Target(tokens: [Self.token(5000)]), .normal)
    let store = try await SQLiteStore.open(path)
    _ = try await store.bind([Self.app, Self.otherApp])
    try await registerDevices(store)
    try await finishSome(store)
    try await startBulk(store)
    try await startUrgent(store)
    let other = try await store.credentials().filter { $0.topic == Self.otherApp.topic }.map(\.id)
    try await store.hold(other, reason: "operator")
    try await store.note(trouble: "no network", of: other)
    let key = try await store.addAPIKey(
      name: "shop", secretSHA256: [3], topics: ["com.example.app", "a\"b"], actions: [.send])
    try await store.noteUse(of: key.id)
    _ = try await store.addAPIKey(name: "all", secretSHA256: [4], topics: nil, actions: nil)
    _ = try await store.revokeAPIKey(key.id)
    _ = try await store.providerToken(
      of: ProviderKeyIdentity(teamID: "TEAM123456", keyID: "KEY1234567", publicKeySHA256: [1, 2]),
      decide: { _ in ProviderTokenRecord(jwt: "a.b.c", issuedAt: 7, refusedUntil: UnixMilliseconds(9)) })
    await store.close()
  }

  // MARK: Filling

  private func registerDevices(_ store: SQLiteStore) async throws {
    for start in stride(from: 0, to: devices, by: 100) {
      _ = try await store.register(
        (start..<start + 100).map {
          DeviceRegistration(
            topic: Self.app.topic, environment: .production, token: Self.token($0), interests: .set(["news"]))
        })
    }
    _ = try await store.register([
      DeviceRegistration(
        topic: Self.otherApp.topic, environment: .sandbox, token: Self.token(9000), user: .set("u\u{0}é"),
        userIsVerified: true, language: .set("de"), interests: .set(["a", "b"]))
    ])
  }

  /// A notification in the middle: three devices have their receipts, one of them is to be tried again.
  private mutating func startBulk(_ store: SQLiteStore) async throws {
    let id = try await publish(store, publication(.bulk))
    let task = try await claim(store, .bulk)[0]
    let interest = try await store.notification(id)?.target.interests[0]
    let request = WalkRequest(
      source: .interest(interest ?? InterestID(0)), after: task.cursor, hi: task.hi, sequenceLimit: task.sequenceLimit,
      credentials: try await store.credentials().map(\.id), limit: 3)
    sent = try await store.read([.walk(request)])[0].ids
    reason = try await store.reasonID(for: "Invented")
    let chunk = ReceiptChunk(
      devices: sent,
      exceptions: [
        ReceiptChunk.Exception(index: 0, status: 503, reason: reason, outcome: .pending),
        ReceiptChunk.Exception(index: 2, status: 410, reason: ReasonID(30), outcome: .rejected),
      ])
    var counts = Counts()
    (counts.devices, counts.accepted, counts.rejected) = (3, 1, 1)
    let list = NewList(devices: [sent[0]], delay: .zero, credentialID: nil, isCounted: true, isHeld: false)
    let retirement = Retirement(
      device: sent[2], registeredBefore: UnixMilliseconds(SystemClocks().wallTime().value + 1000), reason: ReasonID(30))
    let flush = TaskFlush(
      task: task.id, notificationID: id, epoch: task.epoch, settledBefore: 0, attempt: 0, cursor: sent[2], count: 3,
      receipts: .packed(chunk), counts: counts, lists: [list], ends: false, cut: false)
    _ = try await store.flush([flush], retirements: [retirement], owner: 1, lease: .seconds(15))
    _ = try await store.release(LeaseReference(task: task.id, epoch: task.epoch), to: .ready(.bulk), owner: 1)
  }

  /// A notification whose relay died with a device settled out of turn.
  private mutating func startUrgent(_ store: SQLiteStore) async throws {
    let id = try await publish(store, Self.publication(Target(tokens: [Self.token(5001), Self.token(5002)]), .urgent))
    let task = try await claim(store, .urgent, lease: .milliseconds(1))[0]
    settledAhead = try await store.notification(id)?.target.devices.last ?? settledAhead
    try await settle(store, task, [settledAhead], ends: false)
  }

  private mutating func finishSome(_ store: SQLiteStore) async throws {
    _ = try await publish(store, Self.publication(Target(tokens: [Self.token(5003)]), .normal))
    for task in try await claim(store, .normal) {
      let devices = try await store.notification(task.notificationID)?.target.devices ?? []
      try await settle(store, task, devices, ends: true)
    }
    let many = try await publish(store, publication(.bulk, interest: "nobody"))
    for task in try await claim(store, .bulk) {
      // Longer than a row of PostgreSQL may be.
      let devices = (1...2000).map { DeviceID(Int64($0) << 32) }
      let chunk = ReceiptChunk(devices: devices, exceptions: [])
      var counts = Counts()
      (counts.devices, counts.accepted) = (2000, 2000)
      let flush = TaskFlush(
        task: task.id, notificationID: many, epoch: task.epoch, settledBefore: 0, attempt: 0, cursor: task.hi,
        count: 2000,
        receipts: .packed(chunk), counts: counts, lists: [], ends: true, cut: false)
      _ = try await store.flush([flush], retirements: [], owner: 1, lease: .seconds(15))
    }
    keyed.sendAt = UnixMilliseconds(SystemClocks().wallTime().value + 3_600_000)
    keyed.idempotencyKey = IdempotencyKey(scope: 0, key: "a key", requestHash: [1])
    keyedID = try await publish(store, keyed)
    let canceled = try await publish(store, keyedLater)
    var personal = keyedLater
    personal.payload = Array(#"{"aps":{"alert":"{{name}}"}}"#.utf8)
    personal.recipientValues = RecipientValues(names: ["name"])
    personal.recipientValues?.tokens = [[Array("é".utf8)]]
    _ = try await publish(store, personal)
    _ = try await store.cancel(canceled)
  }

  private var keyedLater: Publication {
    var later = keyed
    later.idempotencyKey = nil
    return later
  }

  private func settle(
    _ store: SQLiteStore, _ task: LeasedTask, _ devices: [DeviceID], ends: Bool
  ) async throws {
    let rows = devices.map {
      ReceiptRow(
        device: $0, outcome: .accepted, status: 200, reason: .none, tries: 1, latencyMilliseconds: 7, apnsUniqueID: "u")
    }
    var counts = Counts()
    (counts.devices, counts.accepted) = (rows.count, rows.count)
    let flush = TaskFlush(
      task: task.id, notificationID: task.notificationID, epoch: task.epoch, settledBefore: 0, attempt: 0,
      cursor: task.cursor, count: rows.count, receipts: .rows(rows), counts: counts, lists: [], ends: ends, cut: false)
    _ = try await store.flush([flush], retirements: [], owner: 1, lease: .milliseconds(1))
  }

  private mutating func publish(_ store: SQLiteStore, _ publication: Publication) async throws -> NotificationID {
    guard case .stored(let id, _) = try await store.publish(publication) else { throw SupportError("not stored") }
    ids.append(id)
    return id
  }

  // MARK: Using

  /// What people and workers see of a store.
  func view(of store: any FullStore) async throws -> [String] {
    var lines = try await store.credentials().map { "\($0)" }
    lines += try await store.apiKeys().map { "\($0)" }
    lines += try await store.devices(DeviceQuery(), after: DeviceID(0), limit: 10_000).map { "\($0)" }
    for id in ids {
      lines.append("\(String(describing: try await store.status(id)))")
      lines.append("\(String(describing: try await store.notification(id)))")
      var after: DeviceID? = DeviceID(0)
      while let start = after {
        let page = try await store.receipts(id, outcome: nil, after: start, limit: 500)
        lines += page.receipts.map { "\($0)" }
        after = page.next
      }
    }
    let token = try await store.providerToken(
      of: ProviderKeyIdentity(teamID: "TEAM123456", keyID: "KEY1234567", publicKeySHA256: [1, 2]),
      decide: { (present) throws(StoreError) in
        guard let present else { throw .unreadable("a token that is not there") }
        return present
      })
    return lines + ["\(token.jwt) \(token.issuedAt) \(String(describing: token.refusedUntil))"]
  }

  func claim(
    _ store: any Store, _ lane: Lane, lease: Duration = .seconds(15)
  ) async throws -> [LeasedTask] {
    try await store.claim(
      ClaimRequest(
        lane: lane, owner: 1, lease: lease, window: nil, credentials: try await store.credentials().map(\.id),
        limit: 100))
  }

  func register(_ store: any Store, _ number: Int, user: String?) async throws -> DeviceID {
    let result = try await store.register([
      DeviceRegistration(
        topic: Self.app.topic, environment: .production, token: Self.token(number * 1000), user: .set(user))
    ])
    switch result[0] {
    case .added(let id), .refreshed(let id): return id
    }
  }

  func publication(_ lane: Lane, interest: String = "news") -> Publication {
    Self.publication(Target(interests: [interest]), lane)
  }

  private static func publication(_ target: Target, _ lane: Lane) -> Publication {
    Publication(
      topic: app.topic, target: target, payload: Array(#"{"aps":{"alert":"é\/"}}"#.utf8),
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: lane)
  }

  static func token(_ number: Int) -> DeviceToken {
    let digits = String(number, radix: 16)
    return DeviceToken(stored: String(repeating: "0", count: 64 - digits.count) + digits)
  }
}
