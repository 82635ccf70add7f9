import Operations
import PushCore

extension SQLiteStore: WebhookStore {
  /// Sets back what is not final yet, and leases what is due; of the 500 that are due longest, so that the call stays short.
  public func claimWebhooks(lease: Duration, limit: Int) async throws(StoreError) -> [WebhookMessage] {
    try await write { (transaction) throws(StoreError) in
      try transaction.setBackUnfinished()
      return try transaction.claimWebhooks(lease: lease, limit: limit)
    }
  }

  /// Ends a message or sets it back.
  public func settle(
    _ message: WebhookMessage, as settlement: WebhookSettlement
  ) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in try transaction.settle(message, as: settlement) }
  }
}

extension Transaction {
  /// Stores the webhook of a publish; its first message is due.
  func add(_ webhook: Webhook, of publishID: String) throws(StoreError) {
    try run(
      "INSERT INTO beams_webhook(publish_id,url,body,created_at,due_at) VALUES(?1,?2,?3,?4,?4)", publishID,
      webhook.url.reveal(), webhook.requestBody, now)
  }

  /// Publishes whose time to be looked at has come and that are not all final wait for a tenth of their age.
  fileprivate func setBackUnfinished() throws(StoreError) {
    try run(
      """
      UPDATE beams_webhook SET due_at=?1+max(1000,min(60000,(?1-created_at)/10))
      WHERE publish_id IN (SELECT due.publish_id
        FROM (SELECT publish_id, state FROM beams_webhook WHERE due_at<=?1 ORDER BY due_at LIMIT 500) due
        WHERE due.state=1 AND EXISTS(SELECT 1 FROM beams_publish p
          CROSS JOIN notification_state s ON s.notification_id=p.notification_id
          WHERE p.publish_id=due.publish_id AND s.done_at IS NULL))
      """, now)
  }

  fileprivate func claimWebhooks(lease: Duration, limit: Int) throws(StoreError) -> [WebhookMessage] {
    var messages = try all(
      """
      UPDATE beams_webhook SET due_at=?1+?2, epoch=epoch+1
      WHERE publish_id IN (SELECT due.publish_id
        FROM (SELECT publish_id, state FROM beams_webhook WHERE due_at<=?1 ORDER BY due_at LIMIT 500) due
        WHERE due.state=0 OR NOT EXISTS(SELECT 1 FROM beams_publish p
          CROSS JOIN notification_state s ON s.notification_id=p.notification_id
          WHERE p.publish_id=due.publish_id AND s.done_at IS NULL)
        LIMIT ?3)
      RETURNING publish_id, epoch, url, body, state, tries
      """, now, lease.wholeMilliseconds, limit
    ) { row in
      WebhookMessage(
        publishID: row.text(0), epoch: row.integer(1),
        webhook: Webhook(url: SecretText(row.text(2)), requestBody: row.bytes(3)),
        content: row.integer(4) == 0 ? .started : .finished(Counts()), tries: row.count(5))
    }
    for index in messages.indices where messages[index].content != .started {
      messages[index].content = .finished(try counts(of: messages[index].publishID))
    }
    return messages
  }

  /// The sums over all notifications of a publish.
  private func counts(of publishID: String) throws(StoreError) -> Counts {
    try first(
      """
      SELECT sum(s.accepted), sum(s.rejected), sum(s.expired), sum(s.canceled), sum(s.failed)
      FROM beams_publish p CROSS JOIN notification_state s ON s.notification_id=p.notification_id WHERE p.publish_id=?1
      """, publishID
    ) { row in
      var counts = Counts()
      (counts.accepted, counts.rejected, counts.expired) = (row.count(0), row.count(1), row.count(2))
      (counts.canceled, counts.failed) = (row.count(3), row.count(4))
      return counts
    } ?? Counts()
  }

  fileprivate func settle(
    _ message: WebhookMessage, as settlement: WebhookSettlement
  ) throws(StoreError) -> Bool {
    switch (settlement, message.content) {
    case (.again(let delay), _):
      try run(
        "UPDATE beams_webhook SET tries=tries+1, due_at=?3, epoch=epoch+1 WHERE publish_id=?1 AND epoch=?2",
        message.publishID, message.epoch, now.value + delay.wholeMilliseconds) == 1
    case (.ended, .started):
      try run(
        "UPDATE beams_webhook SET state=1, tries=0, due_at=?3, epoch=epoch+1 WHERE publish_id=?1 AND epoch=?2",
        message.publishID, message.epoch, now) == 1
    case (.ended, .finished):
      try run("DELETE FROM beams_webhook WHERE publish_id=?1 AND epoch=?2", message.publishID, message.epoch) == 1
    }
  }
}
