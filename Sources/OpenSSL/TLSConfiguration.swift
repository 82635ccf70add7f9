/// A TLS protocol version.
public enum TLSVersion: Int32, Sendable, CaseIterable {
  case tls10 = 0x0301
  case tls11 = 0x0302
  case tls12 = 0x0303
  case tls13 = 0x0304
}

/// What a TLS client trusts and offers. Peers are always verified.
public struct TLSClientConfiguration: Sendable, Hashable {
  /// A PEM file with further CA certificates, trusted beside the system's store.
  public var certificateAuthorityFile: String?
  /// The application protocols offered by ALPN, best first; the peer must choose one of them. Default `h2`.
  public var applicationProtocols: [String]

  /// The system's CA certificates, those of a file beside them, and `h2`.
  public init(certificateAuthorityFile: String? = nil, applicationProtocols: [String] = ["h2"]) {
    self.certificateAuthorityFile = certificateAuthorityFile
    self.applicationProtocols = applicationProtocols
  }
}

/// How a TLS server presents itself.
public struct TLSServerConfiguration: Sendable, Hashable {
  /// Where a server's certificate and its private key come from.
  public enum Identity: Sendable, Hashable {
    /// PEM files; behind the certificate stand its intermediates.
    case files(certificate: String, privateKey: String)
    /// PEM texts: one certificate and its key.
    case texts(certificate: [UInt8], privateKey: [UInt8])
  }

  /// The server's certificate and its private key.
  public var identity: Identity
  /// The application protocols accepted by ALPN, best first; a client that offers none of them is refused. Empty: ALPN
  /// is not answered. Default `h2`.
  public var applicationProtocols: [String] = ["h2"]
  /// Ask clients for a certificate, and accept any or none.
  public var requestsClientCertificate = false
  /// PEM files with CA certificates; whether a certificate that was accepted is by one of them is said by
  /// ``PeerCertificate/isTrusted``.
  public var knownClientAuthorityFiles: [String] = []
  /// Refuse every certificate of a client with the alert that it was revoked; clients without one go on.
  public var revokesClientCertificates = false
  /// A PEM file with CA certificates: clients without a certificate by one of them are refused.
  public var clientAuthorityFile: String?
  /// The lowest version accepted. Default TLS 1.2.
  public var minimumVersion = TLSVersion.tls12
  /// The highest version accepted. Default TLS 1.3.
  public var maximumVersion = TLSVersion.tls13

  /// The certificate of a set, the rest by default.
  public init(_ set: CertificateSet) {
    identity = .texts(certificate: set.certificate, privateKey: set.privateKey)
  }

  /// Files with a certificate and its key, the rest by default.
  public init(certificateFile: String, privateKeyFile: String) {
    identity = .files(certificate: certificateFile, privateKey: privateKeyFile)
  }
}
