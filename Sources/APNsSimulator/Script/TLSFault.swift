/// How the TLS of a connection is spoiled; what is nil is as usual.
struct TLSFault: Sendable, Hashable {
  /// What is wrong with the server's certificate.
  enum Certificate: String, Sendable, CaseIterable {
    case expired
    case notYetValid = "not_yet_valid"
    case wrongHost = "wrong_host"
    case unknownAuthority = "unknown_ca"
  }

  /// The highest version of TLS.
  enum Version: String, Sendable, CaseIterable {
    case tls10 = "1.0"
    case tls11 = "1.1"
  }

  /// What the server answers to ALPN in place of `h2`.
  enum ApplicationProtocol: String, Sendable, CaseIterable {
    case none
    case http11 = "http/1.1"
  }

  var certificate: Certificate?
  var version: Version?
  var applicationProtocol: ApplicationProtocol?
  /// Whether the client's certificate is refused as revoked.
  var revokesClientCertificate = false

  /// Whether no client may accept it.
  var isBad: Bool { certificate != nil || version != nil }
}
