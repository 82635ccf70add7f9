import Operations
import PushCore

extension PostgreSQLStore {
  /// Notifications of the lanes urgent and normal for at most this many devices keep a receipt row a device.
  static let rowReceiptsLimit = 100

  /// Stores a notification with its tasks; shares the commit with the calls that wait beside it.
  public func publish(_ publication: Publication) async throws(StoreError) -> PublishResult {
    // The id of the last run: when its commit was not answered, this tells whether it is stored.
    let tried = Lock<NotificationID?>(nil)
    return try await write(isUrgent: publication.lane == .urgent) { (transaction) throws(StoreError) in
      try transaction.publish(publication, tried)
    }
  }
}

extension Transaction {
  /// Stores a notification with its tasks.
  ///
  /// - Parameter tried: the id of the last run of the same call.
  func publish(_ publication: Publication, _ tried: Lock<NotificationID?>) throws(StoreError) -> PublishResult {
    var publishing = Publishing(self, publication, headers: publication.headers.encoded)
    return try publishing.run(tried)
  }
}

/// One run of a publish.
private struct Publishing {
  /// A credential of the app.
  private struct Served {
    var id: CredentialID
    var environment: Environment
    var isHeld: Bool
    var expectedDevices: Int
  }

  /// Whom the publication reaches, by ids.
  private struct Audience {
    var target: PackedTarget
    /// The values of its names; nil = they have none.
    var substitutions: Substitutions?
    /// By the counts at hand.
    var expectedDevices: Int
  }

  private let transaction: Transaction
  private let publication: Publication
  private let headers: [UInt8]
  private var app = AppID(0)
  private var credentials: [Served] = []

  init(_ transaction: Transaction, _ publication: Publication, headers: [UInt8]) {
    self.transaction = transaction
    self.publication = publication
    self.headers = headers
  }

  mutating func run(_ tried: Lock<NotificationID?>) throws(StoreError) -> PublishResult {
    try readApp()
    let earlier = transaction.mayBeRepeated ? tried.withLock { $0 } : nil
    if let earlier, try isStored(earlier) {
      return .stored(earlier, expectedDevices: try resolve().expectedDevices)
    }
    let id = try newNotificationID()
    if let key = publication.idempotencyKey, let result = try use(key, for: id) { return result }

    let audience = try resolve()
    let notBefore = max(publication.sendAt ?? transaction.now, transaction.now)
    try insert(id, audience, notBefore)
    tried.withLock { $0 = id }
    if notBefore <= transaction.now { transaction.wake(publication.lane) }
    return .stored(id, expectedDevices: audience.expectedDevices)
  }

  private mutating func readApp() throws(StoreError) {
    let rows = try transaction.all(
      """
      SELECT a.app_id, c.credential_id, c.environment, c.held_since IS NOT NULL, c.approx_devices
      FROM app a LEFT JOIN credential c ON c.app_id=a.app_id WHERE a.topic=$1 ORDER BY c.credential_id
      """, publication.topic
    ) { row in
      (
        app: AppID(row.integer(0)), credential: row.optional(1, Row.integer).map { CredentialID($0) },
        environment: Environment(rawValue: UInt8(truncatingIfNeeded: row.integer(2))), isHeld: row.bool(3),
        expected: row.count(4)
      )
    }
    guard let first = rows.first else { throw transaction.unknownTopic(publication.topic) }
    app = first.app
    for row in rows {
      guard let id = row.credential, let environment = row.environment else { continue }
      credentials.append(Served(id: id, environment: environment, isHeld: row.isHeld, expectedDevices: row.expected))
    }
  }

  /// Two transactions get the same id only if 4096 others are given in one millisecond; the primary key refuses that.
  private func newNotificationID() throws(StoreError) -> NotificationID {
    let number = try transaction.first("SELECT nextval('notification_seq')") { $0.integer(0) } ?? 0
    return NotificationID(NotificationID.first(at: transaction.now).rawValue | number & 4095)
  }

  private func isStored(_ id: NotificationID) throws(StoreError) -> Bool {
    try transaction.first("SELECT 1 FROM notification_state WHERE notification_id=$1", id) { _ in true } == true
  }

  // MARK: Idempotency

  /// Takes the key for the notification; what it was used for within its 24 hours, nil when it was free. A transaction that takes the same
  /// key at the same time is waited for.
  private func use(_ key: IdempotencyKey, for id: NotificationID) throws(StoreError) -> PublishResult? {
    let taken = try transaction.run(
      """
      INSERT INTO idempotency AS i(scope,key,request_hash,notification_id,expires_at) VALUES($1,$2,$3,$4,$5)
      ON CONFLICT (scope,key) DO UPDATE SET request_hash=excluded.request_hash,
        notification_id=excluded.notification_id, expires_at=excluded.expires_at
      WHERE i.expires_at<=$6
      """, key.scope, key.key, key.requestHash, id, transaction.after(.seconds(86_400)), transaction.now)
    if taken == 1 { return nil }
    return try transaction.first(
      "SELECT notification_id, request_hash FROM idempotency WHERE scope=$1 AND key=$2", key.scope, key.key
    ) { row in
      let earlier = NotificationID(row.integer(0))
      return row.bytes(1) == key.requestHash ? .repeated(earlier) : .conflict(earlier)
    }
  }

  // MARK: Audience

  private mutating func resolve() throws(StoreError) -> Audience {
    let target = publication.target
    if let environment = publication.environment {
      _ = try credential(environment)
      credentials.removeAll { $0.environment != environment }
    }
    let found = try deviceIDs(target.tokens)
    let devices = target.tokens.compactMap { found[$0] }
    // Unknown ones are made: whoever subscribes before a scheduled send is in.
    let made = try transaction.makeInterests(of: app, target.interests)
    let interests = target.interests.compactMap { made[ExactText($0)]?.id }
    guard devices.count == target.tokens.count, interests.count == target.interests.count else {
      throw .unreadable("what was just stored of the notification's target")
    }
    let packed = PackedTarget(
      interests: interests, users: target.users, devices: devices, everyone: target.everyone,
      reachesUnverifiedUsers: publication.reachesUnverifiedUsers, hasValues: publication.recipientValues != nil)
    let substitutions = publication.recipientValues.map {
      Substitutions($0, of: target, interests: interests, devices: devices)
    }
    var expected = packed.devices.count + made.values.reduce(0) { $0 + $1.expected }
    if target.everyone { expected += credentials.reduce(0) { $0 + $1.expectedDevices } }
    return Audience(
      target: packed, substitutions: substitutions, expectedDevices: expected + (try expectedDevices(of: packed.users)))
  }

  /// The credential of an environment; made when there is none.
  private mutating func credential(_ environment: Environment) throws(StoreError) -> CredentialID {
    if let present = credentials.first(where: { $0.environment == environment }) { return present.id }
    let id = try transaction.credentialID(of: app, environment)
    credentials.append(Served(id: id, environment: environment, isHeld: false, expectedDevices: 0))
    return id
  }

  /// The devices of tokens. Unknown tokens become devices that no list shows; the environment is the one asked for, else that of the
  /// registered device, else the app's only one, else the default.
  private mutating func deviceIDs(_ tokens: [DeviceToken]) throws(StoreError) -> [DeviceToken: DeviceID] {
    // In one order, so that two transactions that make the same ones do not wait in a circle.
    let tokens = Set(tokens).sorted { $0.text < $1.text }
    guard !tokens.isEmpty else { return [:] }
    let found = try presentDevices(tokens)
    let missing = tokens.filter { found[$0] == nil }
    guard !missing.isEmpty else { return found }
    let credential =
      credentials.count == 1 ? credentials[0].id : try credential(publication.defaultEnvironment)
    try transaction.makeDevices(of: credential, missing)
    return try presentDevices(tokens)
  }

  private func presentDevices(_ tokens: [DeviceToken]) throws(StoreError) -> [DeviceToken: DeviceID] {
    var found: [DeviceToken: DeviceID] = [:]
    try transaction.rows(
      """
      SELECT DISTINCT ON (token) token, device_id FROM device
      WHERE device_id=ANY(ARRAY(SELECT (SELECT x.device_id FROM device x WHERE x.credential_id=c AND x.token=t)
        FROM unnest($1) c, unnest($2) t))
      ORDER BY token, (registered_at>'epoch' AND retired_at IS NULL) DESC, registered_at DESC
      """, credentials.map(\.id), tokens
    ) { (row) throws(StoreError) in found[DeviceToken(stored: row.text(0))] = DeviceID(row.integer(1)) }
    return found
  }

  private func expectedDevices(of users: [String]) throws(StoreError) -> Int {
    // Beyond the limit for row receipts a user counts as one device: the figure only sizes things.
    guard !users.isEmpty, users.count <= PostgreSQLStore.rowReceiptsLimit else { return users.count }
    return try transaction.first(
      """
      SELECT count(*) FROM device WHERE user_id=ANY($1) AND retired_at IS NULL AND (user_verified OR $2)
        AND credential_id=ANY($3)
      """, users, publication.reachesUnverifiedUsers, credentials.map(\.id)
    ) { $0.count(0) } ?? 0
  }

  // MARK: Rows

  private func insert(
    _ id: NotificationID, _ audience: Audience, _ notBefore: UnixMilliseconds
  ) throws(StoreError) {
    let target = audience.target
    let namesOnly = target.interests.isEmpty && target.users.isEmpty && !target.everyone
    let isWide = !target.interests.isEmpty || target.everyone
    let ranges = RangePlan.ranges(expectedDevices: isWide ? audience.expectedDevices : 0, lane: publication.lane)
    let isHeld = notBefore <= transaction.now && credentials.allSatisfy(\.isHeld)
    let rowReceipts =
      publication.lane != .bulk && audience.expectedDevices <= PostgreSQLStore.rowReceiptsLimit
    try transaction.run(
      """
      WITH n AS (
        INSERT INTO notification(notification_id,app_id,lane,created_at,not_before,expires_at,row_receipts,target,headers,payload,
          substitutions)
        VALUES($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$16)),
      s AS (INSERT INTO notification_state(notification_id,open_tasks) VALUES($1,cardinality($12)))
      INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,lo,hi,cursor,n,state)
      SELECT $1,$2,$11,$3,$5,$6,r.lo,r.hi,r.lo,$14,$15 FROM unnest($12,$13) r(lo,hi)
      """, id, app, publication.lane, transaction.now, notBefore, publication.deadline.time(from: notBefore),
      rowReceipts, target.encoded, headers, publication.payload,
      credentials.count == 1 ? credentials[0].id : CredentialID?.none, ranges.map(\.lo), ranges.map(\.hi),
      namesOnly ? target.devices.count : 0, isHeld ? TaskState.held : .ready,
      audience.substitutions?.encoded)
  }
}

extension Transaction {
  /// Makes devices that are not registered for tokens of a credential that have none; what another transaction makes at the same time stays
  /// as it is.
  func makeDevices(of credential: CredentialID, _ tokens: [DeviceToken]) throws(StoreError) {
    try run(
      """
      INSERT INTO device(device_id,credential_id,token,registered_at)
      SELECT (u.bucket<<40)|nextval('device_seq'), $1, u.token, 'epoch' FROM unnest($2,$3) u(bucket,token)
      WHERE (SELECT d.device_id FROM device d WHERE d.credential_id=$1 AND d.token=u.token) IS NULL ON CONFLICT DO NOTHING
      """, credential, tokens.map { DeviceID.bucket(of: $0) }, tokens)
  }
}
