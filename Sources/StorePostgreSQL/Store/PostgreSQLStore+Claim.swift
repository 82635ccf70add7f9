import Operations
import PushCore

extension PostgreSQLStore {
  /// A task that was claimed so often without a receipt is parked.
  static let claimsWithoutProgress = 5
  /// A lease that ends later was given before the clock was set back.
  static let longestLease = Duration.seconds(60)

  /// Leases due tasks; those that another transaction claims at the same moment are passed over.
  public func claim(_ request: ClaimRequest) async throws(StoreError) -> [LeasedTask] {
    bell.hold(request.owner)
    return try await write(isUrgent: request.lane == .urgent) { (transaction) throws(StoreError) in
      try transaction.claim(request)
    }
  }

  /// Leases held tasks past their deadline.
  public func claimExpired(owner: Int64, lease: Duration, limit: Int) async throws(StoreError) -> [LeasedTask] {
    bell.hold(owner)
    return try await write { (transaction) throws(StoreError) in
      try transaction.claimExpired(owner: owner, lease: lease, limit: limit)
    }
  }

  /// Frees up to 1000 tasks whose lease ran out, or whose owner is dead: see ``OwnerWatch``.
  public func reap(except live: [TaskID]) async throws(StoreError) -> [ReapedTask] {
    try await write { [bell, ownerWatch] (transaction) throws(StoreError) in
      let free = try transaction.ownersWithoutLock(except: bell.owners)
      let dead = ownerWatch.withLock {
        $0.look(free, trusted: bell.trustedSince, at: SystemClocks().monotonicTime())
      }
      let reaped = try transaction.reap(except: live, dead: dead)
      // Then none of them has a lease left.
      if reaped.isEmpty, !dead.isEmpty { try transaction.forget(owners: dead) }
      return reaped
    }
  }
}

// `task_id=ANY(ARRAY(SELECT … SKIP LOCKED))` always finds its rows by the primary key; a join with the same subquery is planned as a scan of
// the whole table, because the number of its rows is not known beforehand.
extension Transaction {
  fileprivate func claim(_ request: ClaimRequest) throws(StoreError) -> [LeasedTask] {
    try all(
      """
      UPDATE task SET state=1, owner=$1, epoch=epoch+1, lease_until=$2, claims=claims+1,
        seq_hi=coalesce(seq_hi,(SELECT last_value FROM device_seq))
      WHERE task_id=ANY(ARRAY(SELECT k.task_id FROM task k
        WHERE k.state=0 AND k.lane=$4 AND k.due_at<=$3 AND k.due_at>=$5
          AND (k.credential_id=ANY(ARRAY(SELECT credential_id FROM credential
                WHERE held_since IS NULL AND credential_id=ANY($6)))
            OR k.credential_id IS NULL AND k.app_id=ANY(ARRAY(SELECT app_id FROM credential
                WHERE held_since IS NULL AND credential_id=ANY($6))))
        ORDER BY k.due_at, k.task_id LIMIT $7 FOR UPDATE SKIP LOCKED))
      RETURNING task_id, notification_id, app_id, credential_id, lane, due_at, attempt, tries, lo, hi, cursor, seq_hi, n,
        settled, epoch, list, expires_at, (SELECT s.canceled_at IS NOT NULL FROM notification_state s
          WHERE s.notification_id=task.notification_id)
      """, request.owner, after(request.lease), now, request.lane,
      request.window.map { UnixMilliseconds(now.value - $0.wholeMilliseconds) } ?? UnixMilliseconds(.min),
      request.credentials, request.limit, read: leasedTask
    ).compactMap { $0 }
  }

  fileprivate func claimExpired(owner: Int64, lease: Duration, limit: Int) throws(StoreError) -> [LeasedTask] {
    try all(
      """
      UPDATE task SET state=1, owner=$1, epoch=epoch+1, lease_until=$2, claims=claims+1,
        seq_hi=coalesce(seq_hi,(SELECT last_value FROM device_seq))
      WHERE task_id=ANY(ARRAY(SELECT x.task_id FROM app a, LATERAL (SELECT k.task_id FROM task k
        WHERE k.app_id=a.app_id AND k.state=3 AND k.expires_at<=$3 LIMIT $4 FOR UPDATE SKIP LOCKED) x LIMIT $4))
      RETURNING task_id, notification_id, app_id, credential_id, lane, due_at, attempt, tries, lo, hi, cursor, seq_hi, n,
        settled, epoch, list, $3, (SELECT s.canceled_at IS NOT NULL FROM notification_state s
          WHERE s.notification_id=task.notification_id)
      """, owner, after(lease), now, limit, read: leasedTask
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
      credentialID: row.optional(3, Row.integer).map { CredentialID($0) }, lane: lane, dueAt: row.time(5),
      attempt: row.count(6), tries: row.count(7), lo: DeviceID(row.integer(8)), hi: DeviceID(row.integer(9)),
      cursor: DeviceID(row.integer(10)), sequenceLimit: row.integer(11), deviceCount: row.count(12),
      settled: row.integer(13), epoch: row.integer(14), list: list,
      timeLeft: .milliseconds(row.time(16).value - now.value), isCanceled: row.bool(17))
  }

  fileprivate func reap(except live: [TaskID], dead: [Int64]) throws(StoreError) -> [ReapedTask] {
    let reaped = try all(
      """
      UPDATE task SET state=CASE WHEN claims>=$2 THEN 2 ELSE 0 END, owner=NULL, due_at=greatest(due_at,$3)
      WHERE task_id=ANY(ARRAY(SELECT task_id FROM task
        WHERE state=1 AND (lease_until<$1 OR lease_until>$4 OR owner=ANY($6)) AND task_id<>ALL($5) LIMIT 1000 FOR UPDATE SKIP LOCKED))
      RETURNING task_id, notification_id, lane, state
      """, now, PostgreSQLStore.claimsWithoutProgress, UnixMilliseconds(now.value - 30_000),
      after(PostgreSQLStore.longestLease), live, dead
    ) { row in
      ReapedTask(
        id: TaskID(row.integer(0)), notificationID: NotificationID(row.integer(1)),
        lane: Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(2))) ?? .bulk,
        isParked: row.integer(3) == TaskState.parked.rawValue)
    }
    for task in reaped where !task.isParked { wake(task.lane) }
    return reaped
  }

  /// The time that is `duration` from now.
  func after(_ duration: Duration) -> UnixMilliseconds { UnixMilliseconds(now.value + duration.wholeMilliseconds) }
}
