import Operations
import PushCore

extension SQLiteStore {
  /// State and sums, from one snapshot.
  public func status(_ id: NotificationID) async throws(StoreError) -> NotificationStatus? {
    try await read { (transaction) throws(StoreError) in try transaction.status(id) }
  }

  /// The attempts of a page of devices, from one snapshot.
  public func receipts(
    _ id: NotificationID, outcome: Outcome?, attempts: AttemptChoice, after: DeviceID, limit: Int
  ) async throws(StoreError) -> ReceiptPage {
    try await read { (transaction) throws(StoreError) in
      guard let kind = try transaction.receiptKind(of: id) else { return ReceiptPage(receipts: [], next: nil) }
      var page =
        kind.hasRows
        ? try transaction.rowPage(id, after: after, limit: limit)
        : try transaction.chunkPage(id, attempts, after: after, limit: limit)
      page.receipts.settlePending(as: kind.outcomeOfPending)
      if let outcome { page.receipts.removeAll { $0.outcome != outcome } }
      return ReceiptPage(receipts: try transaction.marked(transaction.name(page.receipts), of: id), next: page.next)
    }
  }
}

/// How a notification keeps its receipts, and how those without a final outcome are shown.
private struct ReceiptKind {
  var hasRows: Bool
  /// Of a final notification nothing is pending: what it left undone was canceled with it, or its time was over.
  var outcomeOfPending: Outcome
}

extension Transaction {
  // MARK: Status

  /// State and sums.
  func status(_ id: NotificationID) throws(StoreError) -> NotificationStatus? {
    try first(
      """
      SELECT a.topic, n.lane, n.created_at, n.not_before, n.expires_at, s.canceled_at IS NOT NULL, s.done_at, s.cut,
        s.devices, s.accepted, s.rejected, s.expired, s.canceled, s.failed, s.skipped,
        t.leased, t.ready, t.held, t.walking
      FROM notification n JOIN notification_state s ON s.notification_id=n.notification_id JOIN app a ON a.app_id=n.app_id,
        (SELECT max(state=1) AS leased, max(state=0) AS ready, max(state=3) AS held, max(attempt=0) AS walking
          FROM task WHERE notification_id=?1) t
      WHERE n.notification_id=?1
      """, id
    ) { (row) throws(StoreError) in
      guard let lane = Lane(rawValue: UInt8(truncatingIfNeeded: row.integer(1))) else {
        throw .unreadable("notification \(id)")
      }
      let created = UnixMilliseconds(row.integer(2))
      let notBefore = UnixMilliseconds(row.integer(3))
      return NotificationStatus(
        id: id,
        state: NotificationState(
          isCanceled: row.bool(5), isDone: row.optional(6, Row.integer) != nil, isLeased: row.bool(15),
          isReady: row.bool(16),
          isHeld: row.bool(17), hasReceipts: row.integer(8) > 0, isDue: notBefore <= now),
        topic: row.text(0), lane: lane, createdAt: created,
        sendAt: notBefore > created ? notBefore : nil, expiresAt: UnixMilliseconds(row.integer(4)),
        doneAt: row.optional(6, Row.integer).map { UnixMilliseconds($0) },
        isComplete: !row.bool(7) && !row.bool(18), counts: counts(row))
    }
  }

  private func counts(_ row: Row) -> Counts {
    var counts = Counts()
    counts.devices = row.count(8)
    counts.accepted = row.count(9)
    counts.rejected = row.count(10)
    counts.expired = row.count(11)
    counts.canceled = row.count(12)
    counts.failed = row.count(13)
    counts.skipped = row.count(14)
    return counts
  }

  // MARK: Receipts

  fileprivate func receiptKind(of id: NotificationID) throws(StoreError) -> ReceiptKind? {
    try first(
      """
      SELECT n.row_receipts, s.canceled_at IS NOT NULL, s.done_at IS NOT NULL
      FROM notification n JOIN notification_state s ON s.notification_id=n.notification_id WHERE n.notification_id=?1
      """, id
    ) { row in
      ReceiptKind(hasRows: row.bool(0), outcomeOfPending: row.bool(1) ? .canceled : row.bool(2) ? .expired : .pending)
    }
  }

  fileprivate func rowPage(_ id: NotificationID, after: DeviceID, limit: Int) throws(StoreError) -> ReceiptPage {
    let receipts = try all(
      """
      SELECT device_id, outcome, status, reason, at, tries, latency_ms, apns_unique_id FROM receipt
      WHERE notification_id=?1 AND device_id>?2 ORDER BY device_id LIMIT ?3
      """, id, after, limit
    ) { (row) throws(StoreError) in
      guard let outcome = Outcome(rawValue: UInt8(truncatingIfNeeded: row.integer(1))) else {
        throw .unreadable("a receipt of notification \(id)")
      }
      return Receipt(
        deviceID: DeviceID(row.integer(0)), token: nil, environment: nil, outcome: outcome, status: row.count(2),
        reason: ReasonID(Int32(truncatingIfNeeded: row.integer(3))), storedReason: nil,
        at: UnixMilliseconds(row.integer(4)), attempts: row.count(5), latencyMilliseconds: row.optional(6, Row.count),
        apnsUniqueID: row.optional(7, Row.text))
    }
    return ReceiptPage(receipts: receipts, next: receipts.count == limit ? receipts.last?.deviceID : nil)
  }

  fileprivate func chunkPage(
    _ id: NotificationID, _ choice: AttemptChoice, after: DeviceID, limit: Int
  ) throws(StoreError) -> ReceiptPage {
    let end = try endOfChunkPage(id, after: after, limit: limit)
    var attempts = PackedAttempts(after: after, end: end ?? .upperBound)
    try rows(
      """
      SELECT at, n, codes FROM receipt_chunk
      WHERE notification_id=?1 AND attempt<=9223372036854775807 AND first_device<=?3 AND last_device>?2
      ORDER BY attempt DESC
      """, id, after, end ?? .upperBound
    ) { (row) throws(StoreError) in
      guard let chunk = ReceiptChunk(encoded: row.bytes(2), count: row.count(1)) else {
        throw .unreadable("receipts of notification \(id)")
      }
      attempts.add(chunk, at: UnixMilliseconds(row.integer(0)))
    }
    return ReceiptPage(receipts: attempts.receipts(choice), next: end)
  }

  /// The last device of a page of about `limit`; nil when the rest fits. Each device has a receipt of attempt 0.
  private func endOfChunkPage(_ id: NotificationID, after: DeviceID, limit: Int) throws(StoreError) -> DeviceID? {
    var count = 0
    var end: DeviceID?
    try rows(
      """
      SELECT n, last_device FROM receipt_chunk WHERE notification_id=?1 AND attempt=0 AND last_device>?2
      ORDER BY first_device LIMIT ?3
      """, id, after, limit + 1
    ) { (row) throws(StoreError) in
      guard count < limit else { return }
      count += row.count(0)
      end = max(end ?? DeviceID(0), DeviceID(row.integer(1)))
    }
    guard count >= limit, let end else { return nil }
    let isMore = try first(
      "SELECT 1 FROM receipt_chunk WHERE notification_id=?1 AND attempt=0 AND last_device>?2 LIMIT 1", id, end
    ) { _ in true }
    return isMore == true ? end : nil
  }

  /// Fills in tokens, environments and the reasons that only the store knows.
  fileprivate func name(_ receipts: [Receipt]) throws(StoreError) -> [Receipt] {
    var receipts = receipts
    var next = 0
    try rows(
      """
      SELECT d.device_id, d.token, c.environment FROM device d JOIN credential c ON c.credential_id=d.credential_id
      WHERE d.device_id IN (SELECT value FROM json_each(?1)) ORDER BY d.device_id
      """, JSONList(receipts.lazy.map(\.deviceID.rawValue))
    ) { (row) throws(StoreError) in
      let (token, environment) = (
        DeviceToken(stored: row.text(1)), Environment(rawValue: UInt8(truncatingIfNeeded: row.integer(2)))
      )
      receipts.change(DeviceID(row.integer(0)), from: &next) {
        $0.token = token
        $0.environment = environment
      }
    }
    for index in receipts.indices where receipts[index].reason.rawValue >= 1000 {
      receipts[index].storedReason = try first(
        "SELECT text FROM reason WHERE reason_id=?1", receipts[index].reason
      ) { $0.text(0) }
    }
    return receipts
  }

  /// Fills in what apps reported.
  fileprivate func marked(_ receipts: [Receipt], of id: NotificationID) throws(StoreError) -> [Receipt] {
    guard let first = receipts.first, let last = receipts.last else { return receipts }
    var receipts = receipts
    var next = 0
    try rows(
      """
      SELECT device_id, delivered_at, opened_at FROM receipt_mark
      WHERE notification_id=?1 AND device_id>=?2 AND device_id<=?3 ORDER BY device_id
      """, id, first.deviceID, last.deviceID
    ) { (row) throws(StoreError) in
      let deliveredAt = row.optional(1, Row.integer).map { UnixMilliseconds($0) }
      let openedAt = row.optional(2, Row.integer).map { UnixMilliseconds($0) }
      receipts.change(DeviceID(row.integer(0)), from: &next) {
        $0.deliveredAt = deliveredAt
        $0.openedAt = openedAt
      }
    }
    return receipts
  }
}
