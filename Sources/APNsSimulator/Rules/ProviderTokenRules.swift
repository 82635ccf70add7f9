import Operations

/// The rules of the `authorization` field, and what they have to remember: which tokens each key is used with.
public struct ProviderTokenRules: Sendable {
  /// How old a token may be, in seconds.
  static let lifetimeSeconds: Int64 = 3600
  /// How far ahead `iat` may be, in seconds; Apple's pages say nothing about it.
  static let clockToleranceSeconds: Int64 = 60
  /// How long a key's token must stay before another may follow, in seconds.
  static let updateIntervalSeconds: Int64 = 20 * 60
  /// How many bad signatures and how many good ones are remembered, so that a long run costs bounded memory.
  private static let rememberedLimit = 4096

  private var keys: [String: ProviderKey]
  private var verified: [[UInt8]: ProviderToken] = [:]
  private var usage: [String: Usage] = [:]

  /// What was seen of one key.
  private struct Usage {
    var lastUpdateSeconds: Int64
    /// The accepted tokens with their `iat`.
    var accepted: [[UInt8]: Int64]
  }

  /// Rules for the given keys; of two with the same key id the last one counts.
  public init(keys: [ProviderKey]) {
    self.keys = Dictionary(keys.map { ($0.keyID, $0) }) { _, last in last }
  }

  /// Makes a key's tokens invalid.
  mutating func revoke(keyID: String) { keys[keyID] = nil }

  /// Makes a key good for one environment alone, or with nil for both.
  mutating func limit(keyID: String, to environment: Environment?) { keys[keyID]?.environment = environment }

  /// Refuses a request whose `authorization` is not a valid provider token of a known key for that environment and that
  /// connection.
  /// - Returns: the key.
  mutating func check(
    _ authorization: [UInt8]?, environment: Environment, on connection: inout ConnectionBinding, now: UnixMilliseconds
  ) throws(Rejection) -> ProviderKey {
    let bytes = try Self.bearerToken(authorization)
    let token = try verify(bytes)
    guard let key = keys[token.keyID] else { throw Rejection(.invalidProviderToken) }
    guard key.environment ?? environment == environment else {
      throw Rejection(.badEnvironmentKeyInToken)
    }
    guard token.issuedAt <= now.seconds + Self.clockToleranceSeconds else { throw Rejection(.invalidProviderToken) }
    guard now.seconds - max(token.issuedAt, 0) <= Self.lifetimeSeconds else { throw Rejection(.expiredProviderToken) }
    try connection.bind(to: key)
    try checkUpdate(bytes, token, nowSeconds: now.seconds)
    return key
  }

  /// The token after `bearer `. Apple's word for a field without a provider token is that it is missing.
  private static func bearerToken(_ authorization: [UInt8]?) throws(Rejection) -> [UInt8] {
    guard let authorization else { throw Rejection(.missingProviderToken) }
    let parts = authorization.split(separator: UInt8(ascii: " "), maxSplits: 1, omittingEmptySubsequences: false)
    let scheme = String(decoding: parts[0], as: UTF8.self)
    guard scheme.lowercased() == "bearer", parts.count == 2, !parts[1].isEmpty else {
      throw Rejection(.missingProviderToken)
    }
    guard scheme == "bearer" else { throw Rejection(.invalidProviderToken) }
    return Array(parts[1])
  }

  /// The parts of a token that a known key of the right team has signed.
  private mutating func verify(_ bytes: [UInt8]) throws(Rejection) -> ProviderToken {
    if let known = verified[bytes] { return known }
    guard let token = ProviderToken(bytes), let key = keys[token.keyID], key.teamID == token.teamID,
      key.publicKey.verify(signature: token.signature, of: token.signingInput)
    else { throw Rejection(.invalidProviderToken) }
    if verified.count >= Self.rememberedLimit { verified.removeAll() }
    verified[bytes] = token
    return token
  }

  /// Refuses a new token that comes too soon after the one before it; earlier tokens of the key stay good.
  ///
  /// Of a key's first token nobody here knows since when it has been in use; it is taken to be since its `iat`.
  private mutating func checkUpdate(_ bytes: [UInt8], _ token: ProviderToken, nowSeconds: Int64) throws(Rejection) {
    guard var seen = usage[token.keyID] else {
      usage[token.keyID] = Usage(
        lastUpdateSeconds: min(token.issuedAt, nowSeconds), accepted: [bytes: token.issuedAt])
      return
    }
    if seen.accepted[bytes] != nil { return }
    guard nowSeconds - seen.lastUpdateSeconds >= Self.updateIntervalSeconds else {
      throw Rejection(.tooManyProviderTokenUpdates)
    }
    seen.lastUpdateSeconds = nowSeconds
    seen.accepted = seen.accepted.filter { nowSeconds - $0.value <= Self.lifetimeSeconds }
    seen.accepted[bytes] = token.issuedAt
    usage[token.keyID] = seen
  }
}
