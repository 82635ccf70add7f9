import Operations
import PushCore

extension SQLiteStore {
  /// How much one call erases or deletes of each kind: a transaction stays short.
  private static let step = 500

  /// Erases and deletes up to 500 of each kind in one transaction.
  public func removeOld(payloadsAfter: Duration, receiptsAfter: Duration) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      let now = transaction.now.value
      let payloadsBefore = UnixMilliseconds(now - payloadsAfter.wholeMilliseconds)
      let receiptsBefore = UnixMilliseconds(now - receiptsAfter.wholeMilliseconds)
      let erased = try transaction.erasePayloads(before: payloadsBefore, limit: Self.step)
      let isMoreToDelete = try transaction.deleteNotifications(before: receiptsBefore, limit: Self.step)
      let forgotten = try transaction.forgetKeys(limit: 2 * Self.step)
      return erased == Self.step || isMoreToDelete || forgotten == 2 * Self.step
    }
  }
}

extension Transaction {
  /// Erases payloads of notifications that became final before `time`; returns of how many.
  fileprivate func erasePayloads(before time: UnixMilliseconds, limit: Int) throws(StoreError) -> Int {
    let ids = try all(
      """
      UPDATE notification_state SET erased=1 WHERE notification_id IN (SELECT notification_id FROM notification_state
        WHERE done_at<=?1 AND done_at IS NOT NULL AND erased=0 ORDER BY done_at LIMIT ?2)
      RETURNING notification_id
      """, time, limit
    ) { NotificationID($0.integer(0)) }
    for id in ids { try run("UPDATE notification SET payload=NULL, substitutions=NULL WHERE notification_id=?1", id) }
    return ids.count
  }

  /// Deletes notifications that were stored and became final before `time`, with their receipts; true while more is left. A webhook that
  /// has its sums to tell is waited for.
  fileprivate func deleteNotifications(before time: UnixMilliseconds, limit: Int) throws(StoreError) -> Bool {
    let ids = try all(
      """
      SELECT n.notification_id FROM notification n CROSS JOIN notification_state s ON s.notification_id=n.notification_id
      WHERE n.notification_id<?1 AND s.done_at<=?2 AND NOT EXISTS(SELECT 1 FROM beams_publish p
        CROSS JOIN beams_webhook w ON w.publish_id=p.publish_id WHERE p.notification_id=n.notification_id)
      ORDER BY n.notification_id LIMIT ?3
      """, NotificationID.first(at: time), time, limit
    ) { NotificationID($0.integer(0)) }
    var left = limit
    for id in ids {
      left -= try deleteReceipts(of: id, limit: left)
      guard left > 0 else { return true }
      try run("DELETE FROM receipt_mark WHERE notification_id=?1", id)
      try run("DELETE FROM beams_publish WHERE notification_id=?1", id)
      try run("DELETE FROM notification_state WHERE notification_id=?1", id)
      try run("DELETE FROM notification WHERE notification_id=?1", id)
    }
    return ids.count == limit
  }

  /// Deletes up to `limit` receipt rows or chunks; fewer = all of them.
  private func deleteReceipts(of id: NotificationID, limit: Int) throws(StoreError) -> Int {
    let chunks = try run(
      """
      DELETE FROM receipt_chunk
      WHERE rowid IN (SELECT rowid FROM receipt_chunk WHERE notification_id=?1 LIMIT ?2)
      """, id, limit)
    let rows = try run(
      """
      DELETE FROM receipt WHERE notification_id=?1
        AND device_id IN (SELECT device_id FROM receipt WHERE notification_id=?1 LIMIT ?2)
      """, id, limit - chunks)
    return chunks + rows
  }

  /// Deletes idempotency keys whose 24 hours are over; returns how many.
  fileprivate func forgetKeys(limit: Int) throws(StoreError) -> Int {
    try run(
      """
      DELETE FROM idempotency
      WHERE (scope,key) IN (SELECT scope,key FROM idempotency WHERE expires_at<=?1 ORDER BY expires_at LIMIT ?2)
      """, now, limit)
  }
}
