import Operations

/// The webhooks of Beams publishes: what is to be told, until it was told. Each call is one transaction.
///
/// A webhook has two messages, one after the other. A publish whose notifications are not all final is looked at again after a
/// tenth of its age, a second at least and a minute at most: no flush has to think of webhooks.
public protocol WebhookStore: Sendable {
  /// Leases messages that are due, at most `limit`. One that is not settled before its lease ends is due again then.
  func claimWebhooks(lease: Duration, limit: Int) async throws(StoreError) -> [WebhookMessage]
  /// Ends a message or sets it back; a webhook whose last message has ended is forgotten. False, and nothing changes, when the
  /// lease was lost.
  func settle(_ message: WebhookMessage, as settlement: WebhookSettlement) async throws(StoreError) -> Bool
}
