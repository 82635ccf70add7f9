import Operations
import PushCore

extension PostgreSQLStore {
  /// The notifications behind tasks, in one statement.
  public func notifications(
    _ ids: [NotificationID]
  ) async throws(StoreError) -> [NotificationID: StoredNotification] {
    try await walk { (transaction) throws(StoreError) in try transaction.notifications(ids) }
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
  fileprivate func notifications(
    _ ids: [NotificationID]
  ) throws(StoreError) -> [NotificationID: StoredNotification] {
    var found: [NotificationID: StoredNotification] = [:]
    try rows(
      """
      SELECT n.notification_id, a.topic, n.expires_at, n.row_receipts, n.target, n.headers, n.payload,
        n.substitutions
      FROM notification n JOIN app a ON a.app_id=n.app_id WHERE n.notification_id=ANY($1)
      """, ids
    ) { (row) throws(StoreError) in
      let id = NotificationID(row.integer(0))
      guard let target = PackedTarget(encoded: row.bytes(4)), let headers = PushHeaders(encoded: row.bytes(5)) else {
        return
      }
      let substitutions = row.optional(7, Row.bytes).map { Substitutions(encoded: $0, of: target) }
      if let substitutions, substitutions == nil { return }
      found[id] = StoredNotification(
        id: id, topic: row.text(1), expiresAt: row.time(2), rowReceipts: row.bool(3), target: target, headers: headers,
        payload: row.optional(6, Row.bytes), substitutions: substitutions ?? nil)
    }
    return found
  }

  // MARK: Recover

  fileprivate func settledChunks(of task: LeasedTask) throws(StoreError) -> [DeviceID] {
    var settled: [DeviceID] = []
    try rows(
      """
      SELECT n, codes FROM receipt_chunk
      WHERE notification_id=$1 AND attempt=$2 AND first_device<=$4 AND last_device>$3
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
      WHERE notification_id=$1 AND attempt>=$2 AND device_id>$3 AND device_id<=$4 ORDER BY device_id
      """, task.notificationID, task.attempt, task.cursor, task.hi
    ) { DeviceID($0.integer(0)) }
  }

  // MARK: Walk

  fileprivate func walk(_ request: WalkRequest) throws(StoreError) -> DeviceWindow {
    var window = DeviceWindow()
    let add: (Row) throws(StoreError) -> Void = { (row) throws(StoreError) in row.append(to: &window) }
    switch request.source {
    case .interest(let interest):
      // OFFSET 0 keeps the two apart: a join that the planner may turn around reads all devices of the range for every window.
      try rows(
        """
        SELECT d.device_id, d.credential_id, d.token, d.registered_at FROM subscription s,
          LATERAL (SELECT * FROM device x WHERE x.device_id=s.device_id OFFSET 0) d
        WHERE s.interest_id=$1 AND s.device_id>$2 AND s.device_id<=$3 AND (s.device_id & 1099511627775)<=$4
          AND d.retired_at IS NULL AND d.credential_id=ANY($5)
        ORDER BY s.device_id LIMIT $6
        """, interest, request.after, request.hi, request.sequenceLimit, request.credentials, request.limit, each: add)
    case .users(let users, let unverifiedToo):
      // For each user the index gives the devices in order; a device has one user.
      try rows(
        """
        SELECT d.device_id, d.credential_id, d.token, d.registered_at FROM unnest($1) u(user_id),
          LATERAL (SELECT * FROM device x WHERE x.user_id=u.user_id AND x.device_id>$2 AND x.device_id<=$3
            AND x.retired_at IS NULL AND (x.device_id & 1099511627775)<=$4 AND x.credential_id=ANY($5)
            AND (x.user_verified OR $7) ORDER BY x.device_id LIMIT $6) d
        ORDER BY d.device_id LIMIT $6
        """, users, request.after, request.hi, request.sequenceLimit, request.credentials, request.limit,
        unverifiedToo, each: add)
    case .everyone:
      try rows(
        """
        SELECT device_id, credential_id, token, registered_at FROM device
        WHERE device_id>$1 AND device_id<=$2 AND retired_at IS NULL AND (device_id & 1099511627775)<=$3
          AND registered_at>'epoch' AND credential_id=ANY($4)
        ORDER BY device_id LIMIT $5
        """, request.after, request.hi, request.sequenceLimit, request.credentials, request.limit, each: add)
    }
    return window
  }

  fileprivate func readDevices(_ ids: [DeviceID], of target: PackedTarget) throws(StoreError) -> DeviceWindow {
    var window = DeviceWindow()
    // A scalar subquery: EXISTS in a select list may be planned as a hash of the whole table.
    try rows(
      """
      SELECT d.device_id, d.credential_id, d.token, d.registered_at, d.retired_at IS NOT NULL,
        (SELECT true FROM subscription s WHERE s.device_id=d.device_id AND s.interest_id=ANY($2) LIMIT 1) IS TRUE
        OR coalesce(d.user_id=ANY($3),false) AND (d.user_verified OR $4)
      FROM device d WHERE d.device_id=ANY($1) ORDER BY d.device_id
      """, ids, target.interests, target.users, target.reachesUnverifiedUsers
    ) { (row) throws(StoreError) in row.append(to: &window, isRetired: row.bool(4), isMember: row.bool(5)) }
    return window
  }
}
