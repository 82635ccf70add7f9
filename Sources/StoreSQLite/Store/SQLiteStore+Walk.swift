import Operations
import PushCore

extension SQLiteStore {
  /// The notifications behind tasks.
  public func notifications(
    _ ids: [NotificationID]
  ) async throws(StoreError) -> [NotificationID: StoredNotification] {
    try await walk { (transaction) throws(StoreError) in
      var found: [NotificationID: StoredNotification] = [:]
      for id in ids where found[id] == nil {
        do throws(StoreError) {
          found[id] = try transaction.notification(id)
        } catch  where !error.isTransient {
          // The others must not wait for a row that nobody can read.
        }
      }
      return found
    }
  }

  /// What an earlier owner of the task settled behind the cursor; ascending.
  public func settledDevices(of task: LeasedTask, rowReceipts: Bool) async throws(StoreError) -> [DeviceID] {
    try await walk { (transaction) throws(StoreError) in
      rowReceipts ? try transaction.settledRows(of: task) : try transaction.settledChunks(of: task)
    }
  }

  /// The devices of all reads, from one snapshot that holds every commit answered before.
  public func read(_ reads: [DeviceRead]) async throws(StoreError) -> [DeviceWindow] {
    try await walk { (transaction) throws(StoreError) in
      var windows: [DeviceWindow] = []
      for read in reads {
        switch read {
        case .walk(let request): windows.append(try transaction.walk(request))
        case .named(let ids, let target): windows.append(try transaction.readDevices(ids, of: target))
        }
      }
      return windows
    }
  }
}

extension Transaction {
  fileprivate func notification(_ id: NotificationID) throws(StoreError) -> StoredNotification? {
    try first(
      """
      SELECT a.topic, n.expires_at, n.row_receipts, n.target, n.headers, n.payload, n.substitutions
      FROM notification n JOIN app a ON a.app_id=n.app_id WHERE n.notification_id=?1
      """, id
    ) { (row) throws(StoreError) in
      guard let target = PackedTarget(encoded: row.bytes(3)), let headers = PushHeaders(encoded: row.bytes(4)) else {
        throw .unreadable("notification \(id)")
      }
      let substitutions = row.optional(6, Row.bytes).map { Substitutions(encoded: $0, of: target) }
      if let substitutions, substitutions == nil { throw .unreadable("the values of notification \(id)") }
      return StoredNotification(
        id: id, topic: row.text(0), expiresAt: UnixMilliseconds(row.integer(1)), rowReceipts: row.bool(2),
        target: target, headers: headers, payload: row.optional(5, Row.bytes), substitutions: substitutions ?? nil)
    }
  }

  // MARK: Recover

  fileprivate func settledChunks(of task: LeasedTask) throws(StoreError) -> [DeviceID] {
    var settled: [DeviceID] = []
    try rows(
      """
      SELECT n, codes FROM receipt_chunk
      WHERE notification_id=?1 AND attempt=?2 AND first_device<=?4 AND last_device>?3
      """, task.notificationID, task.attempt, task.cursor, task.hi
    ) { (row) throws(StoreError) in
      guard let chunk = ReceiptChunk(encoded: row.bytes(1), count: row.count(0)) else {
        throw .unreadable("receipts of notification \(task.notificationID)")
      }
      for device in chunk.devices where device > task.cursor && device <= task.hi { settled.append(device) }
    }
    return settled.sorted()
  }

  fileprivate func settledRows(of task: LeasedTask) throws(StoreError) -> [DeviceID] {
    try all(
      """
      SELECT device_id FROM receipt
      WHERE notification_id=?1 AND attempt>=?2 AND device_id>?3 AND device_id<=?4 ORDER BY device_id
      """, task.notificationID, task.attempt, task.cursor, task.hi
    ) { DeviceID($0.integer(0)) }
  }

  // MARK: Walk

  fileprivate func walk(_ request: WalkRequest) throws(StoreError) -> DeviceWindow {
    var window = DeviceWindow()
    let add: (Row) throws(StoreError) -> Void = { (row) throws(StoreError) in row.statement.append(to: &window) }
    switch request.source {
    case .interest(let interest):
      try walkInterest(interest, request, add)
    case .users(let users, let unverifiedToo):
      try rows(
        """
        SELECT device_id, credential_id, token, registered_at FROM device
        WHERE user_id IN (SELECT value FROM json_each(?1)) AND device_id>?2 AND device_id<=?3 AND retired_at IS NULL
          AND (device_id & 1099511627775)<=?4 AND credential_id IN (SELECT value FROM json_each(?5))
          AND (user_verified OR ?7)
        ORDER BY device_id LIMIT ?6
        """, JSONList(users), request.after, request.hi, request.sequenceLimit, JSONList(request.credentials),
        request.limit, unverifiedToo, each: add)
    case .everyone:
      try rows(
        """
        SELECT device_id, credential_id, token, registered_at FROM device
        WHERE device_id>?1 AND device_id<=?2 AND retired_at IS NULL AND (device_id & 1099511627775)<=?3
          AND registered_at>0 AND credential_id IN (SELECT value FROM json_each(?4))
        ORDER BY device_id LIMIT ?5
        """, request.after, request.hi, request.sequenceLimit, JSONList(request.credentials), request.limit, each: add)
    }
    return window
  }

  private func walkInterest(
    _ interest: InterestID, _ request: WalkRequest, _ add: (Row) throws(StoreError) -> Void
  ) throws(StoreError) {
    // One credential is the rule, and comparing with it is cheaper than looking into a list for every device.
    if request.credentials.count == 1 {
      return try rows(
        """
        SELECT d.device_id, d.credential_id, d.token, d.registered_at
        FROM subscription s CROSS JOIN device d ON d.device_id=s.device_id
        WHERE s.interest_id=?1 AND s.device_id>?2 AND s.device_id<=?3 AND d.retired_at IS NULL
          AND (s.device_id & 1099511627775)<=?4 AND d.credential_id=?5
        ORDER BY s.device_id LIMIT ?6
        """, interest, request.after, request.hi, request.sequenceLimit, request.credentials[0], request.limit,
        each: add)
    }
    try rows(
      """
      SELECT d.device_id, d.credential_id, d.token, d.registered_at
      FROM subscription s CROSS JOIN device d ON d.device_id=s.device_id
      WHERE s.interest_id=?1 AND s.device_id>?2 AND s.device_id<=?3 AND d.retired_at IS NULL
        AND (s.device_id & 1099511627775)<=?4 AND d.credential_id IN (SELECT value FROM json_each(?5))
      ORDER BY s.device_id LIMIT ?6
      """, interest, request.after, request.hi, request.sequenceLimit, JSONList(request.credentials), request.limit,
      each: add)
  }

  fileprivate func readDevices(_ ids: [DeviceID], of target: PackedTarget) throws(StoreError) -> DeviceWindow {
    var window = DeviceWindow()
    try rows(
      """
      SELECT d.device_id, d.credential_id, d.token, d.registered_at, d.retired_at IS NOT NULL,
        EXISTS(SELECT 1 FROM subscription s
          WHERE s.device_id=d.device_id AND s.interest_id IN (SELECT value FROM json_each(?2)))
        OR coalesce(d.user_id IN (SELECT value FROM json_each(?3)),0) AND (d.user_verified OR ?4)
      FROM device d WHERE d.device_id IN (SELECT value FROM json_each(?1)) ORDER BY d.device_id
      """, JSONList(ids.lazy.map(\.rawValue)), JSONList(target.interests.lazy.map(\.rawValue)), JSONList(target.users),
      target.reachesUnverifiedUsers
    ) { (row) throws(StoreError) in
      row.statement.append(to: &window, isRetired: row.bool(4), isMember: row.bool(5))
    }
    return window
  }
}
