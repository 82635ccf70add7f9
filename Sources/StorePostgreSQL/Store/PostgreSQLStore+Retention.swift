import Operations
import PushCore

extension PostgreSQLStore {
  /// How much one call erases or deletes of each kind: a transaction stays short.
  private static let step = 500
  /// How often partitions are made and dropped.
  private static let dayCareInterval = Duration.seconds(600)

  /// Erases and deletes up to 500 of each kind in one transaction. Days that are over the retention as a whole are dropped; what lies in no
  /// partition of a day is deleted row by row.
  public func removeOld(payloadsAfter: Duration, receiptsAfter: Duration) async throws(StoreError) -> Bool {
    if isTimeForDays() {
      try await write { (transaction) throws(StoreError) in
        try transaction.careForDays(receiptsBefore: transaction.after(.zero - receiptsAfter))
      }
    }
    return try await write { (transaction) throws(StoreError) in
      let receiptsBefore = transaction.after(.zero - receiptsAfter)
      let erased = try transaction.erasePayloads(before: transaction.after(.zero - payloadsAfter), limit: Self.step)
      let isMoreToDelete = try transaction.deleteNotifications(before: receiptsBefore, limit: Self.step)
      let forgotten = try transaction.forgetKeys(limit: 2 * Self.step)
      let isMoreOfBeams = try transaction.forgetBeams(before: receiptsBefore, limit: 2 * Self.step)
      return erased == Self.step || isMoreToDelete || forgotten == 2 * Self.step || isMoreOfBeams
    }
  }

  private func isTimeForDays() -> Bool {
    let now = SystemClocks().monotonicTime()
    return nextDayCare.withLock { next in
      guard now >= next else { return false }
      next = now + Self.dayCareInterval
      return true
    }
  }
}

extension Transaction {
  /// Makes the partitions of the next two days and drops those that are over. A day's own partition is made before it begins: rows are never
  /// moved.
  fileprivate func careForDays(receiptsBefore: UnixMilliseconds) throws(StoreError) {
    try rows(
      "SELECT ensure_day(($1 AT TIME ZONE 'UTC')::date+1), ensure_day(($1 AT TIME ZONE 'UTC')::date+2)", now
    ) { (_) throws(StoreError) in }
    // A webhook that has its sums to tell is waited for.
    try rows(
      """
      SELECT drop_days(least($1,(SELECT min(p.notification_id) FROM beams_webhook w
        JOIN beams_publish p ON p.publish_id=w.publish_id)),$2)
      """, NotificationID.first(at: receiptsBefore), receiptsBefore
    ) { (_) throws(StoreError) in }
  }

  /// Erases payloads of notifications that became final before `time`; returns of how many.
  fileprivate func erasePayloads(before time: UnixMilliseconds, limit: Int) throws(StoreError) -> Int {
    let ids = try all(
      """
      UPDATE notification_state SET erased=true
      WHERE notification_id=ANY(ARRAY(SELECT s.notification_id FROM notification_state s
        WHERE s.done_at<=$1 AND s.done_at IS NOT NULL AND NOT s.erased ORDER BY s.done_at LIMIT $2 FOR UPDATE SKIP LOCKED))
      RETURNING notification_id
      """, time, limit
    ) { NotificationID($0.integer(0)) }
    if !ids.isEmpty {
      try run("UPDATE notification SET payload=NULL, substitutions=NULL WHERE notification_id=ANY($1)", ids)
    }
    return ids.count
  }

  /// Deletes notifications without a day's partition that were stored and became final before `time`, with their receipts; true while more
  /// is left. A webhook that has its sums to tell is waited for.
  fileprivate func deleteNotifications(before time: UnixMilliseconds, limit: Int) throws(StoreError) -> Bool {
    let ids = try all(
      """
      SELECT s.notification_id FROM notification_state_default s
      WHERE s.notification_id<$1 AND s.done_at<=$2 AND NOT EXISTS(SELECT 1 FROM beams_publish p
        JOIN beams_webhook w ON w.publish_id=p.publish_id WHERE p.notification_id=s.notification_id)
      ORDER BY s.notification_id LIMIT $3 FOR UPDATE SKIP LOCKED
      """, NotificationID.first(at: time), time, limit
    ) { NotificationID($0.integer(0)) }
    guard !ids.isEmpty else { return false }
    var left = limit
    left -= try run(
      """
      DELETE FROM receipt_chunk_default WHERE ctid=ANY(ARRAY(
        SELECT ctid FROM receipt_chunk_default WHERE notification_id=ANY($1) LIMIT $2))
      """, ids, left)
    left -= try run(
      """
      DELETE FROM receipt_default WHERE ctid=ANY(ARRAY(
        SELECT ctid FROM receipt_default WHERE notification_id=ANY($1) LIMIT $2))
      """, ids, left)
    guard left > 0 else { return true }
    try run("DELETE FROM notification_total WHERE notification_id=ANY($1)", ids)
    try run("DELETE FROM notification_state WHERE notification_id=ANY($1)", ids)
    try run("DELETE FROM notification WHERE notification_id=ANY($1)", ids)
    return ids.count == limit
  }

  /// Deletes what is kept of publishes beside their notifications, which are gone by then; true while more is left.
  fileprivate func forgetBeams(before time: UnixMilliseconds, limit: Int) throws(StoreError) -> Bool {
    var isMore = false
    for sql in [
      """
      DELETE FROM beams_publish WHERE ctid=ANY(ARRAY(SELECT b.ctid FROM beams_publish b WHERE b.notification_id<$1
        AND NOT EXISTS(SELECT 1 FROM notification_state s WHERE s.notification_id=b.notification_id) LIMIT $2))
      """ as StaticString,
      """
      DELETE FROM receipt_mark WHERE ctid=ANY(ARRAY(SELECT m.ctid FROM receipt_mark m WHERE m.notification_id<$1
        AND NOT EXISTS(SELECT 1 FROM notification_state s WHERE s.notification_id=m.notification_id) LIMIT $2))
      """,
    ] {
      let count = try run(sql, NotificationID.first(at: time), limit)
      isMore = isMore || count == limit
    }
    return isMore
  }

  /// Deletes idempotency keys whose 24 hours are over; returns how many.
  fileprivate func forgetKeys(limit: Int) throws(StoreError) -> Int {
    try run(
      """
      DELETE FROM idempotency WHERE ctid=ANY(ARRAY(
        SELECT ctid FROM idempotency WHERE expires_at<=$1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
      """, now, limit)
  }
}
