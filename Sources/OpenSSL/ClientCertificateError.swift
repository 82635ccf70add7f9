/// Why a file is no certificate that a client can present. Never holds a byte of a key or a password.
public struct ClientCertificateError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What is wrong.
  public enum Code: Sendable, Equatable {
    /// Nothing, or only white space.
    case empty
    /// There is no certificate in it.
    case noCertificate
    /// There is no private key in it.
    case noKey
    /// The key does not belong to any certificate in it.
    case keyMismatch
    /// It asks for a password and none was given.
    case passwordNeeded
    /// The password is wrong, or the file is damaged where only the right password would tell.
    case wrongPassword
    /// It is encrypted in an old way that this system's OpenSSL does not have.
    case oldEncryption
    /// It is damaged or of another kind.
    case damaged
    /// It is not good any more.
    case expired
    /// It is not good yet.
    case notYetValid
  }

  /// What is wrong.
  public let code: Code
  /// What is wrong, in words, with values that are no secret.
  public let message: String
  /// What the reader should do; one sentence.
  public let remedy: String

  init(_ code: Code, _ message: String, _ remedy: String) {
    self.code = code
    self.message = message
    self.remedy = remedy
  }

  /// The whole story in one line; safe to show anyone.
  public var description: String { "\(message). \(remedy)" }

  static let export =
    "Export certificate and key together (Keychain Access: expand the certificate, select both, Export as .p12)"

  static let empty = ClientCertificateError(.empty, "the certificate file is empty", export)
  static let loneKey = ClientCertificateError(
    .noCertificate, "the file holds a private key and no certificate",
    "For token authentication (a .p8 key) write team_id, key_id and key_file; else append the certificate to the file")
  static let noCertificate = ClientCertificateError(.noCertificate, "the file holds no certificate", export)
  static let noKey = ClientCertificateError(.noKey, "the file holds a certificate and no private key", export)
  static let keyMismatch = ClientCertificateError(
    .keyMismatch, "the private key in the file does not belong to a certificate in it", export)
  static let passwordNeeded = ClientCertificateError(
    .passwordNeeded, "the file is encrypted with a password and none was given",
    "Put the password into an environment variable and name that in certificate_password_variable")
  static let wrongPassword = ClientCertificateError(
    .wrongPassword, "the password does not open the file",
    "Check the variable that certificate_password_variable names; it holds the password of the export")
  static let oldEncryption = ClientCertificateError(
    .oldEncryption, "the file is encrypted in an old way (RC2) for which OpenSSL's legacy provider is missing here",
    "Convert it where that is there: openssl pkcs12 -legacy -in FILE -nodes -out FILE.pem")

  static func damaged(_ underlying: String) -> ClientCertificateError {
    ClientCertificateError(.damaged, "the file cannot be read as PEM or PKCS#12 (\(underlying))", export)
  }
}
