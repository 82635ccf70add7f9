/// A TLS protocol version.
public enum TLSVersion: Int32, Sendable, CaseIterable {
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
  /// A PEM file: the server's certificate, then its intermediates.
  public var certificateFile: String
  /// A PEM file with the certificate's private key.
  public var privateKeyFile: String
  /// The application protocols accepted by ALPN, best first; a client that offers none of them is refused. Empty: ALPN
  /// is not answered. Default `h2`.
  public var applicationProtocols: [String] = ["h2"]
  /// Ask clients for a certificate, and accept any or none.
  public var requestsClientCertificate = false
  /// A PEM file with CA certificates: clients without a certificate by one of them are refused.
  public var clientAuthorityFile: String?
  /// The lowest version accepted. Default TLS 1.2.
  public var minimumVersion = TLSVersion.tls12
  /// The highest version accepted. Default TLS 1.3.
  public var maximumVersion = TLSVersion.tls13

  /// A certificate and its key, the rest by default.
  public init(certificateFile: String, privateKeyFile: String) {
    self.certificateFile = certificateFile
    self.privateKeyFile = privateKeyFile
  }
}
