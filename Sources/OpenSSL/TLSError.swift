/// Why a TLS object could not be made or a TLS connection failed.
public struct TLSError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of failure.
  public enum Code: String, Sendable, Hashable {
    /// A certificate, key or CA file cannot be used.
    case configuration
    /// The peer's certificate was not accepted.
    case verification
    /// The peer did not agree on the application protocol (ALPN).
    case applicationProtocol
    /// The peer speaks no TLS, no common version or broke the protocol.
    case handshake
    /// The peer refused the certificate that we present.
    case clientCertificate
    /// The connection broke.
    case connection
  }

  /// The kind of failure.
  public let code: Code
  /// With what: a file, or the peer's `host:port`.
  public let subject: String
  /// What is known, in the library's words.
  public let reason: String
  /// One sentence: what the reader can do; may be empty.
  public let remedy: String

  /// A failure by its parts.
  public init(_ code: Code, _ subject: String, reason: String, remedy: String = "") {
    self.code = code
    self.subject = subject
    self.reason = reason
    self.remedy = remedy
  }

  /// One line for people; holds no secret.
  public var description: String {
    let text =
      switch code {
      case .configuration: "TLS: \(subject): \(reason)"
      case .verification: "TLS: the certificate of \(subject) is refused: \(reason)"
      case .applicationProtocol: "TLS: \(subject): \(reason)"
      case .handshake: "TLS: no agreement with \(subject): \(reason)"
      case .clientCertificate: "TLS: \(subject) refuses our certificate: \(reason)"
      case .connection: "TLS: the connection to \(subject) broke: \(reason)"
      }
    return remedy.isEmpty ? text : "\(text); \(remedy)"
  }
}
