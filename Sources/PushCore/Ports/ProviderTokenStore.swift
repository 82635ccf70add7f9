import Operations

/// Which key signs, without the key: provider tokens are shared under this name.
public struct ProviderKeyIdentity: Sendable, Hashable {
  /// The team.
  public var teamID: String
  /// The key.
  public var keyID: String
  /// SHA-256 of the public key (DER): a replaced key under an old id is another key.
  public var publicKeySHA256: [UInt8]

  /// An identity by its parts.
  public init(teamID: String, keyID: String, publicKeySHA256: [UInt8]) {
    self.teamID = teamID
    self.keyID = keyID
    self.publicKeySHA256 = publicKeySHA256
  }
}

/// The provider token that every process presents for one key; every way to print it shows its age alone.
public struct ProviderTokenRecord: Sendable, Equatable, CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// The compact JWT; a secret, never shown.
  public var jwt: String
  /// Its `iat`, UNIX seconds.
  public var issuedAt: Int64
  /// No new one is minted before this: APNs answered TooManyProviderTokenUpdates.
  public var refusedUntil: UnixMilliseconds?

  /// A record by its values.
  public init(jwt: String, issuedAt: Int64, refusedUntil: UnixMilliseconds?) {
    self.jwt = jwt
    self.issuedAt = issuedAt
    self.refusedUntil = refusedUntil
  }

  /// Its age only; safe to show anyone.
  public var description: String { "provider token issued at \(issuedAt)" }
  /// Its age only.
  public var debugDescription: String { description }
  /// A mirror that shows nothing, for `dump` and test output.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Where processes share their provider tokens.
public protocol ProviderTokenStore: Sendable {
  /// Runs `decide` with the stored record while no other process can, and stores what it returns, durably, before returning.
  ///
  /// - Parameter decide: gets the record, or nil; returns the record to use from now on. It must be short, and is called again when the
  ///   transaction has to be repeated.
  func providerToken(
    of key: ProviderKeyIdentity,
    decide: @escaping @Sendable (ProviderTokenRecord?) throws(StoreError) -> ProviderTokenRecord
  ) async throws(StoreError) -> ProviderTokenRecord
}
