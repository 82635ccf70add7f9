/// A device token as it is stored and sent: lower-case hexadecimal, of any length Apple may choose.
public struct DeviceToken: Sendable, Hashable {
  /// The most digits taken; tokens of 160 are in use, 200 were announced.
  public static let maximumDigits = 200

  /// Lower-case hexadecimal digits.
  public let text: String

  /// Takes a text that is stored already.
  public init(stored text: String) { self.text = text }

  /// Why a text is no device token.
  public enum Fault: Error, Sendable, Equatable {
    /// Nothing is left after trimming.
    case empty
    /// More than ``maximumDigits`` digits.
    case tooLong(digits: Int)
    /// An odd number of digits: half a byte is missing.
    case oddLength(digits: Int)
    /// Not hexadecimal, but the alphabet of base64.
    case looksLikeBase64
    /// `{length=32,bytes=0x…}` or `32 bytes`: the description of Data, not the token.
    case dataDescription
    /// A character that is no hexadecimal digit, at this place from 1.
    case notHexadecimal(position: Int)
  }

  /// Reads what an app or a person wrote: trims, drops one outer `<>` and inner spaces, lower-cases.
  ///
  /// - Parameter allowsOddLength: the device surface takes odd lengths, stored as sent.
  public init(parsing input: String, allowsOddLength: Bool = false) throws(Fault) {
    var bytes = Array(input.utf8)
    bytes = Self.trimmed(bytes)
    if bytes.first == UInt8(ascii: "<"), bytes.last == UInt8(ascii: ">"), bytes.count >= 2 {
      bytes = Array(bytes.dropFirst().dropLast())
    }
    bytes.removeAll { $0 == UInt8(ascii: " ") || $0 == 0x09 }
    guard !bytes.isEmpty else { throw .empty }
    let isHexadecimal = bytes.allSatisfy(Self.isHexDigit)
    if !isHexadecimal { throw Self.fault(in: bytes) }
    guard bytes.count <= Self.maximumDigits else { throw .tooLong(digits: bytes.count) }
    guard allowsOddLength || bytes.count.isMultiple(of: 2) else { throw .oddLength(digits: bytes.count) }
    text = String(
      decoding: bytes.map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "F") ? $0 | 0x20 : $0 }, as: UTF8.self)
  }

  /// The first 8 digits, an ellipsis and the last 4: what logs and listings show.
  public var shortened: String {
    text.utf8.count <= 12 ? text : "\(text.prefix(8))…\(text.suffix(4))"
  }

  private static func trimmed(_ bytes: [UInt8]) -> [UInt8] {
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 >= 0x09 && $0 <= 0x0D }
    guard let first = bytes.firstIndex(where: { !isSpace($0) }), let last = bytes.lastIndex(where: { !isSpace($0) })
    else { return [] }
    return Array(bytes[first...last])
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }

  private static func fault(in bytes: [UInt8]) -> Fault {
    let text = String(decoding: bytes, as: UTF8.self)
    if text.hasPrefix("{length=") || text.hasSuffix("bytes") { return .dataDescription }
    let isBase64: (UInt8) -> Bool = { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
        UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
        true
      default: false
      }
    }
    let beyondHexadecimal = bytes.filter { !isHexDigit($0) }.count
    if bytes.allSatisfy(isBase64), bytes.count >= 20, beyondHexadecimal * 4 >= bytes.count { return .looksLikeBase64 }
    return .notHexadecimal(position: (bytes.firstIndex { !isHexDigit($0) } ?? 0) + 1)
  }
}

extension DeviceToken.Fault: CustomStringConvertible {
  /// What is wrong and what to do; never the token itself.
  public var description: String {
    switch self {
    case .empty: "the device token is empty"
    case .tooLong(let digits):
      "the device token has \(digits) hexadecimal digits; at most \(DeviceToken.maximumDigits) are taken"
    case .oddLength(let digits):
      "the device token has \(digits) hexadecimal digits, an odd number: one digit is missing or too many"
    case .looksLikeBase64: "the device token looks like base64; give its bytes in hexadecimal"
    case .dataDescription:
      "the device token is a printed description of Data, not the token; print each byte with %02x in the app"
    case .notHexadecimal(let position):
      "the device token has a character that is not hexadecimal at position \(position)"
    }
  }
}
