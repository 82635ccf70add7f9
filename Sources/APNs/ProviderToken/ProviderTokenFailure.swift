import OpenSSL
import Operations
import PushCore

/// Why there is no provider token at the moment.
struct ProviderTokenFailure: Error, Sendable, Equatable {
  /// What failed.
  var message: String
  /// What the reader should do.
  var remedy: String
  /// When to ask again.
  var retryAfter: Duration

  static func store(_ error: StoreError) -> ProviderTokenFailure {
    ProviderTokenFailure(
      message: "the provider token cannot be shared: \(error.operation): \(error.underlying)",
      remedy: error.remedy,
      retryAfter: .seconds(error.isTransient ? 1 : 30))
  }

  static func signing(_ error: CryptoError) -> ProviderTokenFailure {
    ProviderTokenFailure(
      message: "the provider token cannot be signed: \(error.underlying)",
      remedy: "Check the OpenSSL installation and the memory limit", retryAfter: .seconds(30))
  }

  static func refused(_ key: ProviderKey, until: UnixMilliseconds, now: UnixMilliseconds)
    -> ProviderTokenFailure
  {
    let wait = max(1, (until.value - now.value + 999) / 1000)
    return ProviderTokenFailure(
      message:
        "APNs takes no new provider token of key \(key.keyID) for another \(wait) s (TooManyProviderTokenUpdates)",
      remedy:
        "Check whether another program makes provider tokens with the same key; give each its own key",
      retryAfter: .seconds(wait))
  }
}
