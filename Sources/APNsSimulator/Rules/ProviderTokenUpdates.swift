/// Which provider tokens each key has been used with, so that new ones do not come too soon.
struct ProviderTokenUpdates: Sendable {
  /// How long a key's token must stay before another may follow, in seconds.
  static let intervalSeconds: Int64 = 20 * 60

  private var usage: [String: Usage] = [:]

  /// What was seen of one key.
  private struct Usage {
    var lastUpdateSeconds: Int64
    /// The accepted tokens with their `iat`.
    var accepted: [[UInt8]: Int64]
  }

  /// Refuses a new token that comes too soon after the one before it; earlier tokens of the key stay good.
  ///
  /// Of a key's first token nobody here knows since when it has been in use; it is taken to be since its `iat`.
  mutating func check(_ bytes: [UInt8], _ token: ProviderToken, nowSeconds: Int64) throws(Rejection) {
    guard var seen = usage[token.keyID] else {
      usage[token.keyID] = Usage(
        lastUpdateSeconds: min(token.issuedAt, nowSeconds), accepted: [bytes: token.issuedAt])
      return
    }
    if seen.accepted[bytes] != nil { return }
    guard nowSeconds - seen.lastUpdateSeconds >= Self.intervalSeconds else {
      throw Rejection(.tooManyProviderTokenUpdates)
    }
    seen.lastUpdateSeconds = nowSeconds
    seen.accepted = seen.accepted.filter { nowSeconds - $0.value <= ProviderTokenRules.lifetimeSeconds }
    seen.accepted[bytes] = token.issuedAt
    usage[token.keyID] = seen
  }
}
