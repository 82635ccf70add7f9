/// What a certificate for APNs says about itself.
public struct CertificateDetails: Sendable, Equatable {
  /// Apple's two services, as far as a certificate names them.
  public struct Services: OptionSet, Sendable {
    /// The set's bits.
    public let rawValue: UInt8

    /// A set by its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The sandbox: the extension 1.2.840.113635.100.6.3.1.
    public static let development = Services(rawValue: 1)
    /// Production: the extension 1.2.840.113635.100.6.3.2.
    public static let production = Services(rawValue: 2)
  }

  /// The subject as one line (RFC 2253).
  public let subject: String
  /// The subject's user ID (0.9.2342.19200300.100.1.1): the bundle id; nil when there is none.
  public let userID: String?
  /// Good from then on, UNIX seconds.
  public let notBefore: Int64
  /// Good until then, UNIX seconds.
  public let notAfter: Int64
  /// SHA-256 of the certificate.
  public let sha256: [UInt8]
  /// The services that it names; empty when it names none.
  public let services: Services
  /// The topics of the extensions 1.2.840.113635.100.6.3.4 and .6, without repeats.
  public let extensionTopics: [String]

  /// Details by their parts.
  public init(
    subject: String, userID: String?, notBefore: Int64, notAfter: Int64, sha256: [UInt8], services: Services,
    extensionTopics: [String]
  ) {
    self.subject = subject
    self.userID = userID
    self.notBefore = notBefore
    self.notAfter = notAfter
    self.sha256 = sha256
    self.services = services
    self.extensionTopics = extensionTopics
  }

  /// All topics that it is known to cover; empty when it says nothing.
  public var topics: [String] {
    [userID].compactMap(\.self).filter { !extensionTopics.contains($0) } + extensionTopics
  }

  /// Checks that it is good at a time, UNIX seconds.
  public func checkValidity(at time: Int64, format: (Int64) -> String) throws(ClientCertificateError) {
    if time > notAfter {
      throw ClientCertificateError(
        .expired, "the certificate has expired at \(format(notAfter))",
        "Make a new one in the Apple developer account; they are good for a year")
    }
    if time < notBefore {
      throw ClientCertificateError(
        .notYetValid, "the certificate is not good before \(format(notBefore))", "Check this machine's clock")
    }
  }
}

/// The certificate that a peer has presented.
public struct PeerCertificate: Sendable, Equatable {
  /// What it says about itself.
  public var details: CertificateDetails
  /// Whether it is by an authority that is known here, good now and made for that use.
  public var isTrusted: Bool

  /// A certificate by its parts.
  public init(details: CertificateDetails, isTrusted: Bool) {
    self.details = details
    self.isTrusted = isTrusted
  }
}

/// Texts inside DER, found without knowing its grammar.
enum DERTexts {
  private static let depthLimit = 16

  /// The UTF8String, PrintableString and IA5String values, in order; what cannot be read is passed over.
  static func all(in bytes: ArraySlice<UInt8>, depth: Int = 0) -> [String] {
    var texts: [String] = []
    var rest = bytes
    while depth < depthLimit, let (tag, content) = element(&rest) {
      switch tag {
      case 0x0C, 0x13, 0x16: if let text = String(validating: content, as: UTF8.self) { texts.append(text) }
      // Constructed: a sequence, a set or a context tag.
      case _ where tag & 0x20 != 0: texts += all(in: content, depth: depth + 1)
      default: continue
      }
    }
    return texts
  }

  /// Takes one element with a tag of one byte and a definite length off the front.
  private static func element(_ bytes: inout ArraySlice<UInt8>) -> (tag: UInt8, content: ArraySlice<UInt8>)? {
    guard let tag = bytes.popFirst(), let first = bytes.popFirst() else { return nil }
    var length = Int(first)
    if first >= 0x80 {
      let count = Int(first & 0x7F)
      guard (1...3).contains(count), bytes.count >= count else { return nil }
      length = bytes.prefix(count).reduce(0) { $0 << 8 | Int($1) }
      bytes.removeFirst(count)
    }
    guard bytes.count >= length else { return nil }
    defer { bytes.removeFirst(length) }
    return (tag, bytes.prefix(length))
  }
}
