extension JSONParser {
  /// A string with its quotes, unescaped; UTF-8 is checked.
  mutating func string(_ bytes: Span<UInt8>) throws(JSONError) -> String {
    let start = position
    var content: [UInt8] = []
    advance()
    while true {
      guard position < bytes.count else { throw JSONError("the string is not closed", at: start, in: bytes) }
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\""):
        advance()
        guard let text = String(validating: content, as: UTF8.self) else {
          throw JSONError("the string is not valid UTF-8", at: start, in: bytes)
        }
        return text
      case UInt8(ascii: "\\"):
        let scalar = try escape(bytes)
        content.append(contentsOf: UTF8.encode(scalar).map(Array.init) ?? [])
      case 0..<0x20:
        throw JSONError("control character 0x\(hex(byte)) in a string must be escaped", at: position, in: bytes)
      default:
        content.append(byte)
        advance()
      }
    }
  }

  private mutating func escape(_ bytes: Span<UInt8>) throws(JSONError) -> UnicodeScalar {
    let start = position
    advance()
    let byte = position < bytes.count ? bytes[position] : 0
    advance()
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return UnicodeScalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): break
    default: throw JSONError("the escape sequence is unknown", at: start, in: bytes)
    }
    let unit = try codeUnit(bytes, start)
    guard UTF16.isLeadSurrogate(unit) || UTF16.isTrailSurrogate(unit) else { return scalar(UInt32(unit)) }
    guard UTF16.isLeadSurrogate(unit), position + 1 < bytes.count,
      bytes[position] == UInt8(ascii: "\\"), bytes[position + 1] == UInt8(ascii: "u")
    else { throw JSONError("half of a surrogate pair stands alone", at: start, in: bytes) }
    advance(2)
    let low = try codeUnit(bytes, start)
    guard UTF16.isTrailSurrogate(low) else {
      throw JSONError("half of a surrogate pair stands alone", at: start, in: bytes)
    }
    return scalar(0x10000 + (UInt32(unit) - 0xD800) << 10 + (UInt32(low) - 0xDC00))
  }

  private mutating func codeUnit(_ bytes: Span<UInt8>, _ start: Int) throws(JSONError) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard position < bytes.count, let digit = hexDigit(bytes[position]) else {
        throw JSONError("\\u needs four hexadecimal digits", at: start, in: bytes)
      }
      unit = unit << 4 | UInt16(digit)
      advance()
    }
    return unit
  }

  /// Only called with values that are no surrogates and at most 0x10FFFF.
  private func scalar(_ value: UInt32) -> UnicodeScalar { UnicodeScalar(value) ?? "\u{FFFD}" }

  private func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
