import Operations
import PushCore

extension SQLiteStore {
  /// Notifications of the lanes urgent and normal for at most this many devices keep a receipt row a device.
  static let rowReceiptsLimit = 100

  /// Stores a notification with its tasks; shares the commit with the calls that wait beside it.
  public func publish(_ publication: Publication) async throws(StoreError) -> PublishResult {
    let headers = publication.headers.encoded
    return try await write(isUrgent: publication.lane == .urgent) { (transaction) throws(StoreError) in
      try transaction.publish(publication, headers: headers)
    }
  }

  /// Calls `handler` on the writer's thread: it must return at once.
  public func onNewWork(_ handler: @escaping @Sendable (Lane) -> Void) async {
    writer.onNewWork(handler)
  }
}

/// An app as a publication meets it.
private struct PublishingApp {
  /// A credential of the app.
  struct Served {
    var id: CredentialID
    var environment: Environment
    var isHeld: Bool
    var expectedDevices: Int
  }

  var id: AppID
  var credentials: [Served]
}

/// Whom a publication reaches, by ids.
private struct ResolvedAudience {
  var target: PackedTarget
  /// The values of its names; nil = they have none.
  var substitutions: Substitutions?
  /// The credential of all its devices; nil = several of the app.
  var credential: CredentialID?
  /// By the counts at hand.
  var expectedDevices: Int
  /// Whether every credential that could serve it is held.
  var isHeld: Bool
}

extension Transaction {
  /// Stores a notification with its tasks.
  func publish(_ publication: Publication, headers: [UInt8]) throws(StoreError) -> PublishResult {
    var app = try publishingApp(publication.topic)
    if let key = publication.idempotencyKey, let earlier = try earlierResult(of: key) { return earlier }

    let audience = try resolve(publication, &app)
    let notBefore = max(publication.sendAt ?? now, now)
    let expiresAt = publication.deadline.time(from: notBefore)
    let id = try insertNotification(publication, app.id, audience, notBefore, expiresAt, headers)
    try insertTasks(of: id, publication, app.id, audience, notBefore, expiresAt)
    if let key = publication.idempotencyKey { try remember(key, id) }
    if notBefore <= now { wake(publication.lane) }
    return .stored(id, expectedDevices: audience.expectedDevices)
  }

  private func publishingApp(_ topic: String) throws(StoreError) -> PublishingApp {
    var app: PublishingApp?
    try rows(
      """
      SELECT a.app_id, c.credential_id, c.environment, c.held_since IS NOT NULL, c.approx_devices
      FROM app a LEFT JOIN credential c ON c.app_id=a.app_id WHERE a.topic=?1
      """, topic
    ) { (row) throws(StoreError) in
      var known = app ?? PublishingApp(id: AppID(row.integer(0)), credentials: [])
      if let credential = row.optional(1, Row.integer),
        let environment = Environment(rawValue: UInt8(truncatingIfNeeded: row.integer(2)))
      {
        known.credentials.append(
          .init(
            id: CredentialID(credential), environment: environment, isHeld: row.bool(3), expectedDevices: row.count(4)))
      }
      app = known
    }
    guard let app else { throw unknownTopic(topic) }
    return app
  }

  // MARK: Idempotency

  /// What the key was used for within its 24 hours; nil when it is new.
  private func earlierResult(of key: IdempotencyKey) throws(StoreError) -> PublishResult? {
    try first(
      "SELECT notification_id, request_hash FROM idempotency WHERE scope=?1 AND key=?2 AND expires_at>?3",
      key.scope, key.key, now
    ) { row in
      let id = NotificationID(row.integer(0))
      return row.bytes(1) == key.requestHash ? .repeated(id) : .conflict(id)
    }
  }

  private func remember(_ key: IdempotencyKey, _ id: NotificationID) throws(StoreError) {
    try run(
      "INSERT OR REPLACE INTO idempotency(scope,key,request_hash,notification_id,expires_at) VALUES(?1,?2,?3,?4,?5)",
      key.scope, key.key, key.requestHash, id, now.value + 86_400_000)
  }

  // MARK: Audience

  private func resolve(
    _ publication: Publication, _ app: inout PublishingApp
  ) throws(StoreError) -> ResolvedAudience {
    let target = publication.target
    if let environment = publication.environment {
      _ = try credential(of: &app, environment)
      app.credentials.removeAll { $0.environment != environment }
    }
    var devices: [DeviceID] = []
    for token in target.tokens { devices.append(try deviceID(of: token, publication, &app)) }
    var interests: [InterestID] = []
    // Unknown ones are made: whoever subscribes before a scheduled send is in.
    for name in target.interests { interests.append(try makeInterestID(of: app.id, name)) }
    let packed = PackedTarget(
      interests: interests, users: target.users, devices: devices, everyone: target.everyone,
      reachesUnverifiedUsers: publication.reachesUnverifiedUsers, hasValues: publication.recipientValues != nil)
    return ResolvedAudience(
      target: packed,
      substitutions: publication.recipientValues.map {
        Substitutions($0, of: target, interests: interests, devices: devices)
      }, credential: app.credentials.count == 1 ? app.credentials[0].id : nil,
      expectedDevices: try expectedDevices(packed, app), isHeld: app.credentials.allSatisfy(\.isHeld))
  }

  /// The credential of an environment; made when there is none.
  private func credential(
    of app: inout PublishingApp, _ environment: Environment
  ) throws(StoreError) -> CredentialID {
    if let present = app.credentials.first(where: { $0.environment == environment }) { return present.id }
    let id = try credentialID(of: app.id, environment)
    app.credentials.append(.init(id: id, environment: environment, isHeld: false, expectedDevices: 0))
    return id
  }

  /// The device of a token. Unknown tokens become devices that no list shows; the environment is the one asked for, else that of the
  /// registered device, else the app's only one, else the default.
  private func deviceID(
    of token: DeviceToken, _ publication: Publication, _ app: inout PublishingApp
  ) throws(StoreError) -> DeviceID {
    if let present = try deviceID(of: token, app.credentials.map(\.id)) { return present }
    let credential =
      app.credentials.count == 1
      ? app.credentials[0].id : try credential(of: &app, publication.defaultEnvironment)
    let id = try makeDeviceID(for: token)
    try run(
      "INSERT INTO device(device_id,credential_id,token,registered_at) VALUES(?1,?2,?3,0)", id, credential, token)
    return id
  }

  private func deviceID(of token: DeviceToken, _ credentials: [CredentialID]) throws(StoreError) -> DeviceID? {
    if credentials.count == 1 {
      return try first("SELECT device_id FROM device WHERE credential_id=?1 AND token=?2", credentials[0], token) {
        DeviceID($0.integer(0))
      }
    }
    return try first(
      """
      SELECT device_id FROM device WHERE token=?1 AND credential_id IN (SELECT value FROM json_each(?2))
      ORDER BY (registered_at>0 AND retired_at IS NULL) DESC, registered_at DESC LIMIT 1
      """, token, JSONList(credentials)
    ) { DeviceID($0.integer(0)) }
  }

  private func expectedDevices(_ target: PackedTarget, _ app: PublishingApp) throws(StoreError) -> Int {
    var expected = target.devices.count
    for interest in target.interests {
      expected += try first("SELECT approx_size FROM interest WHERE interest_id=?1", interest) { $0.count(0) } ?? 0
    }
    if target.everyone { expected += app.credentials.reduce(0) { $0 + $1.expectedDevices } }
    // Beyond the limit for row receipts a user counts as one device: the figure only sizes things.
    guard target.users.count <= SQLiteStore.rowReceiptsLimit else { return expected + target.users.count }
    for user in target.users {
      expected +=
        try first(
          """
          SELECT count(*) FROM device WHERE user_id=?1 AND retired_at IS NULL AND (user_verified OR ?2)
            AND credential_id IN (SELECT value FROM json_each(?3))
          """, user, target.reachesUnverifiedUsers, JSONList(app.credentials.map(\.id))
        ) { $0.count(0) } ?? 0
    }
    return expected
  }

  // MARK: Rows

  private func insertNotification(
    _ publication: Publication, _ app: AppID, _ audience: ResolvedAudience, _ notBefore: UnixMilliseconds,
    _ expiresAt: UnixMilliseconds, _ headers: [UInt8]
  ) throws(StoreError) -> NotificationID {
    let id = try freeNotificationID()
    let rowReceipts = publication.lane != .bulk && audience.expectedDevices <= SQLiteStore.rowReceiptsLimit
    try run(
      """
      INSERT INTO notification(notification_id,app_id,lane,created_at,not_before,expires_at,row_receipts,target,headers,payload,
        substitutions)
      VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)
      """, id, app, publication.lane, now, notBefore, expiresAt, rowReceipts, audience.target.encoded, headers,
      publication.payload, audience.substitutions?.encoded)
    return id
  }

  /// The first free id of this millisecond. When all 4096 are taken, or the clock stepped back onto times that have ids, those of the next
  /// milliseconds are tried.
  private func freeNotificationID() throws(StoreError) -> NotificationID {
    var first = NotificationID.first(at: now)
    while true {
      let end = NotificationID(first.rawValue + 4096)
      let last = try self.first(
        "SELECT notification_id FROM notification WHERE notification_id<?1 ORDER BY notification_id DESC LIMIT 1", end
      ) { NotificationID($0.integer(0)) }
      guard let last, last >= first else { return first }
      if last.successor < end { return last.successor }
      first = end
    }
  }

  private func insertTasks(
    of id: NotificationID, _ publication: Publication, _ app: AppID, _ audience: ResolvedAudience,
    _ notBefore: UnixMilliseconds, _ expiresAt: UnixMilliseconds
  ) throws(StoreError) {
    let target = audience.target
    let namesOnly = target.interests.isEmpty && target.users.isEmpty && !target.everyone
    let isWide = !target.interests.isEmpty || target.everyone
    let ranges = RangePlan.ranges(expectedDevices: isWide ? audience.expectedDevices : 0, lane: publication.lane)
    let state: TaskState = notBefore <= now && audience.isHeld ? .held : .ready
    for range in ranges {
      try run(
        """
        INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,lo,hi,cursor,n,state)
        VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?7,?9,?10)
        """, id, app, audience.credential, publication.lane, notBefore, expiresAt, range.lo, range.hi,
        namesOnly ? target.devices.count : 0, state)
    }
    try run("INSERT INTO notification_state(notification_id,open_tasks) VALUES(?1,?2)", id, ranges.count)
  }
}
