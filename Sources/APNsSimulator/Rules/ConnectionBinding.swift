public import OpenSSL

/// What a connection stands for, from its handshake or its first push on; a value of its own for each, forgotten with it.
public struct ConnectionBinding: Sendable {
  /// The certificate that the client has presented; nil: it shows provider tokens.
  let certificate: PeerCertificate?

  /// The key of its first valid provider token.
  private var key: ProviderKey?

  /// The provider tokens that were used on it.
  var tokenUpdates = ProviderTokenUpdates()

  /// A new connection.
  public init(certificate: PeerCertificate? = nil) { self.certificate = certificate }

  /// Binds the connection to the team and the kind of its first key, and refuses a key that is of another.
  mutating func bind(to key: ProviderKey) throws(Rejection) {
    guard let first = self.key else {
      self.key = key
      return
    }
    guard first.teamID == key.teamID else { throw Rejection(.invalidProviderToken) }
    guard first.sharesConnections(with: key) else { throw Rejection(.unrelatedKeyIdInToken) }
  }
}
