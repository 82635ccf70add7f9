import PushCore

/// What became of a webhook's message, or of the store. The composition root makes log lines and metrics of it.
///
/// The host is the only part of a URL that is shown.
public enum WebhookEvent: Sendable, Equatable {
  /// It arrived.
  case delivered(publishID: String, host: String)
  /// It did not, and is sent again.
  case failed(publishID: String, host: String, reason: String)
  /// It did not, and is not sent again.
  case givenUp(publishID: String, host: String, reason: String)
  /// The store failed; what was leased is due again when its lease ends. Said once until it works again.
  case storeFailed(StoreError)
}
