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

/// Whom a publication reaches, by ids.
private struct ResolvedAudience {
  var target: PackedTarget
  /// The credential of all its devices; nil = several of the app.
  var credential: CredentialID?
  /// By the counts at hand.
  var expectedDevices: Int
}

extension Transaction {
  fileprivate func publish(_ publication: Publication, headers: [UInt8]) throws(StoreError) -> PublishResult {
    let app = try knownAppID(of: publication.topic)
    if let key = publication.idempotencyKey, let earlier = try earlierResult(of: key) { return earlier }

    let audience = try resolve(publication, app)
    let notBefore = max(publication.sendAt ?? now, now)
    let expiresAt = deadline(publication.deadline, notBefore)
    let id = try insertNotification(publication, app, audience, notBefore, expiresAt, headers)
    try insertTasks(of: id, publication, app, audience, notBefore, expiresAt)
    if let key = publication.idempotencyKey { try remember(key, id) }
    if notBefore <= now { wake(publication.lane) }
    return .stored(id, expectedDevices: audience.expectedDevices)
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

  private func resolve(_ publication: Publication, _ app: AppID) throws(StoreError) -> ResolvedAudience {
    let target = publication.target
    var credentials = try credentialIDs(of: app)
    if let environment = publication.environment { credentials = [try credentialID(of: app, environment)] }
    var devices: [DeviceID] = []
    for token in target.tokens { devices.append(try deviceID(of: token, publication, app, credentials)) }
    // Naming a token can have made the app's first or second credential.
    if publication.environment == nil, !devices.isEmpty { credentials = try credentialIDs(of: app) }
    var interests: [InterestID] = []
    // Unknown ones are made: whoever subscribes before a scheduled send is in.
    for name in target.interests { interests.append(try makeInterestID(of: app, name)) }
    let packed = PackedTarget(
      interests: interests, users: target.users, devices: devices, everyone: target.everyone,
      reachesUnverifiedUsers: publication.reachesUnverifiedUsers)
    return ResolvedAudience(
      target: packed, credential: credentials.count == 1 ? credentials[0] : nil,
      expectedDevices: try expectedDevices(packed, credentials))
  }

  /// The device of a token. Unknown tokens become devices that no list shows; the environment is the one asked for, else that of the
  /// registered device, else the app's only one, else the default.
  private func deviceID(
    of token: DeviceToken, _ publication: Publication, _ app: AppID, _ credentials: [CredentialID]
  ) throws(StoreError) -> DeviceID {
    let present = try first(
      """
      SELECT device_id FROM device WHERE token=?1 AND credential_id IN (SELECT value FROM json_each(?2))
      ORDER BY (registered_at>0 AND retired_at IS NULL) DESC, registered_at DESC LIMIT 1
      """, token, JSONList(credentials)
    ) { DeviceID($0.integer(0)) }
    if let present { return present }
    let credential =
      credentials.count == 1 ? credentials[0] : try credentialID(of: app, publication.defaultEnvironment)
    let id = try makeDeviceID(for: token)
    try run(
      "INSERT INTO device(device_id,credential_id,token,registered_at) VALUES(?1,?2,?3,0)", id, credential, token)
    return id
  }

  private func expectedDevices(
    _ target: PackedTarget, _ credentials: [CredentialID]
  ) throws(StoreError) -> Int {
    var expected = target.devices.count
    for interest in target.interests {
      expected += try first("SELECT approx_size FROM interest WHERE interest_id=?1", interest) { $0.count(0) } ?? 0
    }
    if target.everyone {
      expected +=
        try first(
          """
          SELECT coalesce(sum(approx_devices),0) FROM credential
          WHERE credential_id IN (SELECT value FROM json_each(?1))
          """, JSONList(credentials)
        ) { $0.count(0) } ?? 0
    }
    // Beyond the limit for row receipts a user counts as one device: the figure only sizes things.
    guard target.users.count <= SQLiteStore.rowReceiptsLimit else { return expected + target.users.count }
    for user in target.users {
      expected +=
        try first(
          """
          SELECT count(*) FROM device WHERE user_id=?1 AND retired_at IS NULL AND (user_verified OR ?2)
            AND credential_id IN (SELECT value FROM json_each(?3))
          """, user, target.reachesUnverifiedUsers, JSONList(credentials)
        ) { $0.count(0) } ?? 0
    }
    return expected
  }

  // MARK: Rows

  private func deadline(_ deadline: Deadline, _ notBefore: UnixMilliseconds) -> UnixMilliseconds {
    switch deadline {
    case .after(let duration): UnixMilliseconds(notBefore.value + duration.wholeMilliseconds)
    case .at(let time): time
    case .immediate: UnixMilliseconds(notBefore.value + 60_000)
    }
  }

  private func insertNotification(
    _ publication: Publication, _ app: AppID, _ audience: ResolvedAudience, _ notBefore: UnixMilliseconds,
    _ expiresAt: UnixMilliseconds, _ headers: [UInt8]
  ) throws(StoreError) -> NotificationID {
    let rowReceipts = publication.lane != .bulk && audience.expectedDevices <= SQLiteStore.rowReceiptsLimit
    let target = audience.target.encoded
    // An id is taken only when the clock stepped back onto a millisecond that has it; the sequence then finds a free one.
    for _ in 0..<4096 {
      let id = try nextNotificationID()
      let inserted = try run(
        """
        INSERT INTO notification(notification_id,app_id,lane,created_at,not_before,expires_at,row_receipts,target,headers,payload)
        VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10) ON CONFLICT DO NOTHING
        """, id, app, publication.lane, now, notBefore, expiresAt, rowReceipts, target, headers, publication.payload)
      if inserted == 1 { return id }
    }
    throw StoreError(
      code: .temporary, operation: connection.name, underlying: "no free notification id in this millisecond",
      remedy: "Check the system clock and try again.")
  }

  private func nextNotificationID() throws(StoreError) -> NotificationID {
    let sequence = try first("UPDATE meta SET value=value+1 WHERE key='notification_seq' RETURNING value") {
      $0.integer(0)
    }
    return NotificationID(at: now, sequence: sequence ?? 0)
  }

  private func insertTasks(
    of id: NotificationID, _ publication: Publication, _ app: AppID, _ audience: ResolvedAudience,
    _ notBefore: UnixMilliseconds, _ expiresAt: UnixMilliseconds
  ) throws(StoreError) {
    let target = audience.target
    let namesOnly = target.interests.isEmpty && target.users.isEmpty && !target.everyone
    let isWide = !target.interests.isEmpty || target.everyone
    let ranges = RangePlan.ranges(expectedDevices: isWide ? audience.expectedDevices : 0, lane: publication.lane)
    let state = notBefore <= now ? try stateOfDueTask(app, audience.credential) : .ready
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

  /// Ready, or held when every credential that could serve it is.
  private func stateOfDueTask(_ app: AppID, _ credential: CredentialID?) throws(StoreError) -> TaskState {
    let isServed = try first(
      """
      SELECT 1 FROM credential WHERE app_id=?1 AND credential_id=coalesce(?2,credential_id) AND held_since IS NULL LIMIT 1
      """, app, credential
    ) { _ in true }
    return isServed == true ? .ready : .held
  }
}
