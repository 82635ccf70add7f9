/// Why a text, file or setting is no key that can sign provider tokens. Never holds a byte of the key.
public struct PrivateKeyError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of thing was given instead.
  public enum Code: Sendable, Equatable {
    /// There is no such file.
    case fileNotFound
    /// This user may not read the file.
    case fileForbidden
    /// The file cannot be read, or is none.
    case fileUnreadable
    /// Nothing, or only white space.
    case empty
    /// UTF-16 or UTF-32 text.
    case wideText
    /// No `-----BEGIN`, and nothing else that is recognized.
    case noPEM
    /// The base64 body of a PEM text without its BEGIN and END lines.
    case bareBase64
    /// Base64 of a whole PEM text.
    case base64OfPEM
    /// Binary DER.
    case binary
    /// PKCS#12, binary.
    case pkcs12
    /// A certificate.
    case certificate
    /// A public key.
    case publicKey
    /// A private key that asks for a password.
    case encrypted
    /// Another PEM label.
    case otherLabel
    /// The END line is missing.
    case truncated
    /// The base64 between BEGIN and END is damaged.
    case corruptBase64
    /// The ASN.1 inside is damaged.
    case damaged
    /// A key, but no elliptic-curve key.
    case otherAlgorithm
    /// An elliptic-curve key of another curve than P-256.
    case otherCurve
    /// Private and public half do not belong together.
    case mismatchedPublicKey
    /// OpenSSL cannot sign with it.
    case unusable
  }

  /// What kind of thing was given instead.
  public let code: Code
  /// What is wrong, with values that are no secret.
  public let message: String
  /// What the reader should do; one sentence.
  public let remedy: String

  init(_ code: Code, _ message: String, _ remedy: String = PrivateKeyError.download) {
    self.code = code
    self.message = message
    self.remedy = remedy
  }

  /// The whole story in one line; safe to show anyone.
  public var description: String { "\(message). \(remedy)" }

  static let download =
    "Use the file AuthKey_<key id>.p8 as downloaded from Keys in the Apple developer account"

  static let empty = PrivateKeyError(.empty, "the key is empty")
  static let wideText = PrivateKeyError(
    .wideText, "the key is UTF-16 or UTF-32 text", "Save it as plain text (ASCII or UTF-8)")
  static let noPEM = PrivateKeyError(.noPEM, "the key has no line -----BEGIN PRIVATE KEY-----")
  static let bareBase64 = PrivateKeyError(
    .bareBase64, "the key is bare base64: -----BEGIN PRIVATE KEY----- and -----END PRIVATE KEY----- are missing",
    "Give the whole text of the .p8 file, with both lines")
  static let base64OfPEM = PrivateKeyError(
    .base64OfPEM, "the key looks base64-encoded: decoded, it is a PEM text",
    "Decode it first (base64 -d) and give the text that starts with -----BEGIN PRIVATE KEY-----")
  static let binary = PrivateKeyError(
    .binary, "the key is binary (DER), not PEM text",
    "Give the .p8 file as downloaded, or convert it: openssl pkey -inform DER -in KEY -out KEY.p8")
  static let pkcs12 = PrivateKeyError(
    .pkcs12, "this is a PKCS#12 file (.p12) of certificate authentication; token authentication needs the .p8 key")
  static let certificate = PrivateKeyError(
    .certificate, "this is a certificate; token authentication needs the .p8 key")
  static let publicKey = PrivateKeyError(.publicKey, "this is a public key, and a public key cannot sign")
  static let encrypted = PrivateKeyError(
    .encrypted, "the private key is encrypted with a password; Apple's keys are not",
    "Use the .p8 file as downloaded, or decrypt it: openssl pkey -in KEY -out KEY.p8")
  static let truncated = PrivateKeyError(
    .truncated, "the key is cut off: its line -----END PRIVATE KEY----- is missing")
  static let corruptBase64 = PrivateKeyError(
    .corruptBase64, "the base64 between the BEGIN and END lines of the key is damaged")
  static let mismatchedPublicKey = PrivateKeyError(
    .mismatchedPublicKey, "the public half inside the key does not belong to its private half")

  static func otherLabel(_ label: String) -> PrivateKeyError {
    PrivateKeyError(.otherLabel, "the file holds '\(label)' and no PRIVATE KEY")
  }

  static func damaged(_ underlying: String) -> PrivateKeyError {
    PrivateKeyError(.damaged, "the key is damaged: its PEM is whole, its content is not (\(underlying))")
  }

  static func otherAlgorithm(_ name: String) -> PrivateKeyError {
    PrivateKeyError(.otherAlgorithm, "the algorithm of the key is \(name); APNs takes ES256 only, an EC key on P-256")
  }

  static func otherCurve(_ name: String) -> PrivateKeyError {
    PrivateKeyError(.otherCurve, "the key is on the curve \(name); APNs takes P-256 (prime256v1) only")
  }

  static func unusable(_ underlying: String) -> PrivateKeyError {
    PrivateKeyError(.unusable, "OpenSSL cannot sign with the key (\(underlying))")
  }
}
