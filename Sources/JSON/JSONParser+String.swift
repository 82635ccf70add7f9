extension JSONParser {
  /// A string with its quotes, unescaped; UTF-8 is checked.
  mutating func string(_ bytes: Span<UInt8>) throws(JSONError) -> String {
    let start = position
    let content = start + 1
    let (end, hasEscapes) = try endOfString(bytes)
    let text = try text(bytes, content..<end)
    if hasEscapes {
      advance(to: content)
      return try unescaped(bytes, end)
    }
    advance(to: end + 1)
    return text
  }

  /// A stretch of the document as a string; UTF-8 is checked.
  func text(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(JSONError) -> String {
    do {
      return String(copying: try UTF8Span(validating: bytes.extracting(range)))
    } catch {
      throw JSONError("the text is not valid UTF-8", at: range.lowerBound + error.byteOffsets.lowerBound, in: bytes)
    }
  }

  /// Where the closing quote of the string at the current position is, and whether anything before it is escaped.
  private func endOfString(_ bytes: Span<UInt8>) throws(JSONError) -> (end: Int, hasEscapes: Bool) {
    var index = position + 1
    var hasEscapes = false
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") { return (index, hasEscapes) }
      if byte == UInt8(ascii: "\\") {
        hasEscapes = true
        index += 1
      } else if byte < 0x20 {
        throw JSONError("control character 0x\(hex(byte)) in a string must be escaped", at: index, in: bytes)
      }
      index += 1
    }
    throw JSONError("the string is not closed", at: position, in: bytes)
  }

  /// The content up to the closing quote at `end`, which is passed; the bytes are known to be UTF-8.
  private mutating func unescaped(_ bytes: Span<UInt8>, _ end: Int) throws(JSONError) -> String {
    var content: [UInt8] = []
    content.reserveCapacity(end - position)
    while position < end {
      let byte = bytes[position]
      if byte == UInt8(ascii: "\\") {
        let scalar = try escape(bytes)
        content.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      } else {
        content.append(byte)
        advance()
      }
    }
    advance()
    return String(decoding: content, as: UTF8.self)
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
