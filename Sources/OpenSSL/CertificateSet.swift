/// A certificate authority of one's own and one server certificate by it, in PEM: for stand-ins and tests, where
/// clients are told to trust that authority.
public struct CertificateSet: Sendable, Equatable {
  /// The authority's certificate.
  public var authority: [UInt8]
  /// The authority's private key.
  public var authorityKey: [UInt8]
  /// The server's certificate.
  public var certificate: [UInt8]
  /// The private key of the server's certificate.
  public var privateKey: [UInt8]

  /// A set of four PEM texts.
  public init(authority: [UInt8], authorityKey: [UInt8], certificate: [UInt8], privateKey: [UInt8]) {
    self.authority = authority
    self.authorityKey = authorityKey
    self.certificate = certificate
    self.privateKey = privateKey
  }

  /// How long a server's certificate is good, in days: the longest that Apple's systems take from one's own authority.
  public static let certificateDays = 825
  /// How long the authority is good, in days.
  public static let authorityDays = 3650

  /// Whether a name can stand in a certificate: an IPv4 or IPv6 address, or a DNS name, perhaps with `*` as its first
  /// label.
  public static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 253
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"),
          UInt8(ascii: "*"):
          true
        default: false
        }
      }
  }

  /// Whether a name is meant as an address.
  static func isAddress(_ name: String) -> Bool {
    name.contains(":") || name.utf8.allSatisfy { $0 == UInt8(ascii: ".") || ($0 >= 48 && $0 <= 57) }
  }
}
