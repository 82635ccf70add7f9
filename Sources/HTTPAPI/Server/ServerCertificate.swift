/// A certificate with its key, in PEM; never printed.
public struct ServerCertificate: Sendable {
  /// The certificate, its intermediates behind it.
  let certificate: [UInt8]
  /// The key; a secret.
  let key: [UInt8]

  /// A certificate and its key as their files hold them.
  public init(certificate: [UInt8], key: [UInt8]) {
    self.certificate = certificate
    self.key = key
  }
}
