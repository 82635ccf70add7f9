public import OpenSSL

/// What a connection stands for, from its handshake or its first push on; a value of its own for each, forgotten with it.
public struct ConnectionBinding: Sendable {
  /// The certificate that the client has presented; nil: it shows provider tokens.
  let certificate: PeerCertificate?

  /// A new connection.
  public init(certificate: PeerCertificate? = nil) { self.certificate = certificate }
}
