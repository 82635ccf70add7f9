import Operations

/// The rules of the `authorization` field, and what they have to remember: which tokens each key is used with.
public struct ProviderTokenRules: Sendable {
  /// How old a token may be, in seconds.
  static let lifetimeSeconds: Int64 = 3600
  /// How many bad signatures and how many good ones are remembered, so that a long run costs bounded memory.
  private static let rememberedLimit = 4096

  private var keys: [String: ProviderKey]
  private var verified: [[UInt8]: ProviderToken] = [:]
  private var updates = ProviderTokenUpdates()

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
    _ authorization: [UInt8]?, environment: Environment, on connection: inout ConnectionBinding, knobs: Knobs,
    now: UnixMilliseconds
  ) throws(Rejection) -> ProviderKey {
    let bytes = try Self.bearerToken(authorization)
    let token = try verify(bytes, knobs)
    guard let key = keys[token.keyID] else { throw Rejection(.invalidProviderToken) }
    guard key.environment ?? environment == environment else {
      throw Rejection(.badEnvironmentKeyInToken)
    }
    guard token.issuedAt <= now.seconds + knobs.futureIssueTolerance.components.seconds else {
      throw Rejection(.invalidProviderToken)
    }
    guard now.seconds - max(token.issuedAt, 0) <= Self.lifetimeSeconds else { throw Rejection(.expiredProviderToken) }
    try connection.bind(to: key)
    switch knobs.tokenUpdates {
    case .key: try updates.check(bytes, token, nowSeconds: now.seconds)
    case .connection: try connection.tokenUpdates.check(bytes, token, nowSeconds: now.seconds)
    }
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
  private mutating func verify(_ bytes: [UInt8], _ knobs: Knobs) throws(Rejection) -> ProviderToken {
    if let known = verified[bytes] { return known }
    guard let token = ProviderToken(bytes, acceptsDER: knobs.acceptsDER), let key = keys[token.keyID],
      key.teamID == token.teamID,
      key.publicKey.verify(signature: token.signature, of: token.signingInput)
    else { throw Rejection(.invalidProviderToken) }
    if verified.count >= Self.rememberedLimit { verified.removeAll() }
    verified[bytes] = token
    return token
  }
}
