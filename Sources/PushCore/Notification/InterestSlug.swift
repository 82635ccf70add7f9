/// The part of an interest that names a user, such as `janedoe-at-pushercom`: what Laravel 5.8's `str_slug` makes of an
/// e-mail address, which is the rule of the login approval tutorial and of every app built after it.
///
/// Different addresses can have the same slug; it is a name, not a proof.
public enum InterestSlug {
  /// Letters that the rule cannot spell in ASCII: the interest would be another than the one that the app subscribed
  /// to.
  public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong.
    public let description: String
  }

  /// The slug of an address or user id.
  /// - Throws: when letters would be lost, or nothing is left.
  public static func slug(of text: String) throws(Fault) -> String {
    var ascii: [UInt8] = []
    for scalar in text.unicodeScalars {
      if scalar.isASCII {
        // Control characters are dropped like everything else that is not printable.
        if scalar.value >= 0x20, scalar.value < 0x7F { ascii.append(UInt8(scalar.value)) }
      } else if let spelling = LatinLetters.spelling(of: scalar) {
        ascii += spelling.utf8
      } else if isLetterOrDigit(scalar) {
        throw Fault(
          description:
            "the address has letters other than Latin ones, which its interest would lose")
      }
    }
    let slug = joined(ascii)
    guard !slug.isEmpty else {
      throw Fault(description: "the address leaves nothing for the name of an interest")
    }
    return slug
  }

  /// Letters and digits, lower case; each run of other marks that stay (`-`, `_`, space, and `@` spelled out) is one
  /// dash.
  private static func joined(_ ascii: [UInt8]) -> String {
    var result: [UInt8] = []
    var needsDash = false
    func append(_ byte: UInt8) {
      if needsDash, !result.isEmpty { result.append(UInt8(ascii: "-")) }
      needsDash = false
      result.append(byte)
    }
    for byte in ascii {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
        append(byte)
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): append(byte | 0x20)
      case UInt8(ascii: "@"):
        needsDash = true
        append(UInt8(ascii: "a"))
        append(UInt8(ascii: "t"))
        needsDash = true
      case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: " "): needsDash = true
      default: break
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isLetterOrDigit(_ scalar: UnicodeScalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
      .decimalNumber,
      .letterNumber, .otherNumber, .spacingMark:
      true
    default: false
    }
  }
}
