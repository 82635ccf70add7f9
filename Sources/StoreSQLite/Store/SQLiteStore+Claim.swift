import Operations
import PushCore

extension SQLiteStore {
  /// A task that was claimed so often without a receipt is parked.
  static let claimsWithoutProgress = 5
  /// Milliseconds; a lease that ends later was given before the clock was set back.
  static let longestLease: Int64 = 60_000

  /// Leases due tasks.
  public func claim(_ request: ClaimRequest) async throws(StoreError) -> [LeasedTask] {
    try await write(isUrgent: request.lane == .urgent) { [owners] (transaction) throws(StoreError) in
      try owners.hold(request.owner)
      return try transaction.claim(request)
    }
  }

  /// Leases held tasks past their deadline.
  public func claimExpired(owner: Int64, lease: Duration, limit: Int) async throws(StoreError) -> [LeasedTask] {
    try await write { [owners] (transaction) throws(StoreError) in
      try owners.hold(owner)
      return try transaction.claimExpired(owner: owner, lease: lease, limit: limit)
    }
  }

  /// Frees up to 1000 tasks whose lease ran out, or whose owner's lock nobody holds any more.
  public func reap(except live: [TaskID]) async throws(StoreError) -> [ReapedTask] {
    try await write { [owners] (transaction) throws(StoreError) in
      let dead = owners.dead()
      let reaped = try transaction.reap(except: live, dead: dead)
      // Then none of them has a lease left, and what they were is known no longer.
      if reaped.isEmpty { owners.remove(dead) }
      return reaped
    }
  }
}

extension Transaction {
  fileprivate func claim(_ request: ClaimRequest) throws(StoreError) -> [LeasedTask] {
    let since = request.window.map { now.value - $0.wholeMilliseconds } ?? 0
    return try all(
      """
      UPDATE task SET state=1, owner=?1, epoch=epoch+1, lease_until=?2+?3, claims=claims+1,
        seq_hi=coalesce(seq_hi,(SELECT value FROM meta WHERE key='device_seq'))
      WHERE task_id IN (SELECT k.task_id FROM task k
        WHERE k.state=0 AND k.lane=?4 AND k.due_at<=?2 AND k.due_at>=?5
          AND (k.credential_id IN (SELECT credential_id FROM credential
                WHERE held_since IS NULL AND credential_id IN (SELECT value FROM json_each(?6)))
            OR k.credential_id IS NULL AND k.app_id IN (SELECT app_id FROM credential
                WHERE held_since IS NULL AND credential_id IN (SELECT value FROM json_each(?6))))
        ORDER BY k.due_at, k.task_id LIMIT ?7)
      RETURNING task_id, notification_id, app_id, credential_id, lane, due_at, attempt, tries, lo, hi, cursor, seq_hi, n,
        settled, epoch, list, expires_at-?2, EXISTS(SELECT 1 FROM notification_state s
          WHERE s.notification_id=task.notification_id AND s.canceled_at IS NOT NULL)
      """, request.owner, now, request.lease.wholeMilliseconds, request.lane, since, JSONList(request.credentials),
      request.limit, read: leasedTask
    ).compactMap { $0 }
  }

  fileprivate func claimExpired(owner: Int64, lease: Duration, limit: Int) throws(StoreError) -> [LeasedTask] {
    try all(
      """
      UPDATE task SET state=1, owner=?1, epoch=epoch+1, lease_until=?2+?3, claims=claims+1,
        seq_hi=coalesce(seq_hi,(SELECT value FROM meta WHERE key='device_seq'))
      WHERE task_id IN (SELECT k.task_id FROM app a CROSS JOIN task k ON k.app_id=a.app_id
        WHERE k.state=3 AND k.expires_at<=?2 LIMIT ?4)
      RETURNING task_id, notification_id, app_id, credential_id, lane, due_at, attempt, tries, lo, hi, cursor, seq_hi, n,
        settled, epoch, list, 0, EXISTS(SELECT 1 FROM notification_state s
          WHERE s.notification_id=task.notification_id AND s.canceled_at IS NOT NULL)
      """, owner, now, lease.wholeMilliseconds, limit, read: leasedTask
    ).compactMap { $0 }
  }

  /// The task of a row; nil when this version cannot read it. It then stays leased and nobody works on it, so that it is parked after five
  /// claims, and no other task waits for it.
  private func leasedTask(_ row: Row) -> LeasedTask? {
    guard let lane = Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(4))) else { return nil }
    var list: [DeviceID]?
    if let bytes = row.optional(15, Row.bytes) {
      guard let ids = DeltaVarint.decode(list: bytes) else { return nil }
      list = ids
    }
    return LeasedTask(
      id: TaskID(row.integer(0)), notificationID: NotificationID(row.integer(1)), appID: AppID(row.integer(2)),
      credentialID: row.optional(3, Row.integer).map { CredentialID($0) }, lane: lane,
      dueAt: UnixMilliseconds(row.integer(5)), attempt: row.count(6), tries: row.count(7), lo: DeviceID(row.integer(8)),
      hi: DeviceID(row.integer(9)), cursor: DeviceID(row.integer(10)), sequenceLimit: row.integer(11),
      deviceCount: row.count(12), settled: row.integer(13), epoch: row.integer(14), list: list,
      timeLeft: .milliseconds(row.integer(16)), isCanceled: row.bool(17))
  }

  fileprivate func reap(except live: [TaskID], dead: [Int64]) throws(StoreError) -> [ReapedTask] {
    let reaped = try all(
      """
      UPDATE task SET state=CASE WHEN claims>=?2 THEN 2 ELSE 0 END, owner=NULL, due_at=max(due_at,?1-30000)
      WHERE task_id IN (SELECT task_id FROM task WHERE state=1
          AND (lease_until<?1 OR lease_until>?1+?4 OR owner IN (SELECT value FROM json_each(?5)))
          AND task_id NOT IN (SELECT value FROM json_each(?3)) LIMIT 1000)
      RETURNING task_id, notification_id, lane, state
      """, now, SQLiteStore.claimsWithoutProgress, JSONList(live.lazy.map(\.rawValue)), SQLiteStore.longestLease,
      JSONList(dead)
    ) { row in
      ReapedTask(
        id: TaskID(row.integer(0)), notificationID: NotificationID(row.integer(1)),
        lane: Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(2))) ?? .bulk,
        isParked: row.integer(3) == TaskState.parked.rawValue)
    }
    for task in reaped where !task.isParked { wake(task.lane) }
    return reaped
  }
}
