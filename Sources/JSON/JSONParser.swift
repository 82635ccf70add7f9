/// Which texts are taken.
public enum JSONSyntax: Sendable {
  /// RFC 8259 to the letter, in UTF-8 without a byte order mark: for payloads and wire formats.
  case strict
  /// Also `//` and `/* */` comments, a comma after the last element and a byte order mark: for files that people write.
  case relaxed
}

extension JSONValue {
  /// The deepest nesting taken unless the caller says otherwise; far beyond any payload of 5120 bytes that a device reads.
  public static let defaultMaximumDepth = 64

  /// Parses one document.
  ///
  /// Refused beyond the grammar: invalid UTF-8, an escaped lone surrogate (no receiver agrees on it), a number too large for
  /// binary64, nesting deeper than `maximumDepth`, anything but white space after the value.
  /// - Throws: ``JSONError`` with the place of the first fault.
  public init(
    parsing bytes: [UInt8], syntax: JSONSyntax = .strict, maximumDepth: Int = defaultMaximumDepth
  ) throws(JSONError) {
    var parser = JSONParser(syntax: syntax, maximumDepth: maximumDepth)
    self = try parser.document(bytes.span)
  }
}

/// A recursive-descent parser over a span; the nesting limit bounds its stack.
struct JSONParser {
  let syntax: JSONSyntax
  let maximumDepth: Int
  private var index = 0
  private var depth = 0

  init(syntax: JSONSyntax, maximumDepth: Int) {
    self.syntax = syntax
    self.maximumDepth = maximumDepth
  }

  var position: Int { index }

  mutating func advance(_ count: Int = 1) { index += count }

  mutating func advance(to position: Int) { index = position }

  mutating func document(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
    if bytes.count >= 2, bytes[0] == 0xFE && bytes[1] == 0xFF || bytes[0] == 0xFF && bytes[1] == 0xFE {
      throw JSONError("the text is UTF-16; save it as UTF-8", at: 0, in: bytes)
    }
    if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
      guard syntax == .relaxed else { throw JSONError("the text begins with a byte order mark", at: 0, in: bytes) }
      index = 3
    }
    try skipSpace(bytes)
    guard index < bytes.count else { throw JSONError("the text is empty", at: index, in: bytes) }
    let value = try value(bytes)
    try skipSpace(bytes)
    guard index == bytes.count else {
      throw JSONError("there is more after the end of the JSON value", at: index, in: bytes)
    }
    return value
  }

  private mutating func value(_ bytes: Span<UInt8>) throws(JSONError) -> JSONValue {
    let start = index
    let kind: JSONValue.Kind
    switch peek(bytes) {
    case UInt8(ascii: "{"): kind = .object(try members(bytes))
    case UInt8(ascii: "["): kind = .array(try elements(bytes))
    case UInt8(ascii: "\""): kind = .string(try string(bytes))
    case .some(UInt8(ascii: "-")), .some(UInt8(ascii: "0")...UInt8(ascii: "9")): kind = .number(try number(bytes))
    case UInt8(ascii: "t"): kind = try literal([0x74, 0x72, 0x75, 0x65], .bool(true), bytes)
    case UInt8(ascii: "f"): kind = try literal([0x66, 0x61, 0x6C, 0x73, 0x65], .bool(false), bytes)
    case UInt8(ascii: "n"): kind = try literal([0x6E, 0x75, 0x6C, 0x6C], .null, bytes)
    default: throw unexpected("a value", bytes)
    }
    return JSONValue(kind: kind, range: start..<index)
  }

  private mutating func members(_ bytes: Span<UInt8>) throws(JSONError) -> [JSONMember] {
    var members: [JSONMember] = []
    try enter(bytes)
    while try !leave(UInt8(ascii: "}"), first: members.isEmpty, bytes) {
      let start = index
      guard peek(bytes) == UInt8(ascii: "\"") else { throw unexpected("a name in double quotes", bytes) }
      let name = try string(bytes)
      let nameRange = start..<index
      try skipSpace(bytes)
      guard peek(bytes) == UInt8(ascii: ":") else { throw unexpected("':'", bytes) }
      index += 1
      try skipSpace(bytes)
      members.append(JSONMember(name: name, nameRange: nameRange, value: try value(bytes)))
    }
    return members
  }

  private mutating func elements(_ bytes: Span<UInt8>) throws(JSONError) -> [JSONValue] {
    var elements: [JSONValue] = []
    try enter(bytes)
    while try !leave(UInt8(ascii: "]"), first: elements.isEmpty, bytes) {
      elements.append(try value(bytes))
    }
    return elements
  }

  private mutating func enter(_ bytes: Span<UInt8>) throws(JSONError) {
    depth += 1
    guard depth <= maximumDepth else {
      throw JSONError("nested more than \(maximumDepth) levels deep", at: index, in: bytes)
    }
    index += 1
  }

  /// Moves past the comma before the next element, or past the closing bracket: then true.
  private mutating func leave(_ close: UInt8, first: Bool, _ bytes: Span<UInt8>) throws(JSONError) -> Bool {
    try skipSpace(bytes)
    if !first, peek(bytes) == UInt8(ascii: ",") {
      let comma = index
      index += 1
      try skipSpace(bytes)
      guard peek(bytes) == close else { return false }
      guard syntax == .relaxed else { throw JSONError("a comma before the closing bracket", at: comma, in: bytes) }
    } else if peek(bytes) != close {
      if first { return false }
      throw unexpected("',' or '\(Character(UnicodeScalar(close)))'", bytes)
    }
    index += 1
    depth -= 1
    return true
  }

  private mutating func literal(
    _ text: [UInt8], _ kind: JSONValue.Kind, _ bytes: Span<UInt8>
  ) throws(JSONError) -> JSONValue.Kind {
    for byte in text {
      guard peek(bytes) == byte else { throw unexpected("a value", bytes) }
      index += 1
    }
    return kind
  }

  private mutating func number(_ bytes: Span<UInt8>) throws(JSONError) -> JSONNumber {
    let start = index
    if peek(bytes) == UInt8(ascii: "-") { index += 1 }
    if peek(bytes) == UInt8(ascii: "0") {
      index += 1
    } else {
      try digits(bytes)
    }
    if peek(bytes) == UInt8(ascii: ".") {
      index += 1
      try digits(bytes)
    }
    var hasExponent = false
    if peek(bytes) == UInt8(ascii: "e") || peek(bytes) == UInt8(ascii: "E") {
      hasExponent = true
      index += 1
      if peek(bytes) == UInt8(ascii: "+") || peek(bytes) == UInt8(ascii: "-") { index += 1 }
      try digits(bytes)
    }
    let number = JSONNumber(text: try text(bytes, start..<index))
    // Below 10^308 without an exponent there is nothing to find out.
    guard !hasExponent && index - start <= 308 || number.double.isFinite else {
      throw JSONError("the number is too large for a 64-bit floating-point value", at: start, in: bytes)
    }
    return number
  }

  private mutating func digits(_ bytes: Span<UInt8>) throws(JSONError) {
    let start = index
    while let byte = peek(bytes), byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { index += 1 }
    guard index > start else { throw unexpected("a digit", bytes) }
  }

  private func peek(_ bytes: Span<UInt8>) -> UInt8? { index < bytes.count ? bytes[index] : nil }

  private func unexpected(_ expected: String, _ bytes: Span<UInt8>) -> JSONError {
    guard let byte = peek(bytes) else {
      return JSONError("the text ends where \(expected) should be", at: index, in: bytes)
    }
    let found = byte > 0x20 && byte < 0x7F ? "'\(Character(UnicodeScalar(byte)))'" : "byte 0x\(hex(byte))"
    return JSONError("found \(found) where \(expected) should be", at: index, in: bytes)
  }

  private mutating func skipSpace(_ bytes: Span<UInt8>) throws(JSONError) {
    while let byte = peek(bytes) {
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0D: index += 1
      case UInt8(ascii: "/") where syntax == .relaxed: try skipComment(bytes)
      default: return
      }
    }
  }

  private mutating func skipComment(_ bytes: Span<UInt8>) throws(JSONError) {
    let start = index
    index += 1
    switch peek(bytes) {
    case UInt8(ascii: "/"):
      while let byte = peek(bytes), byte != 0x0A, byte != 0x0D { index += 1 }
    case UInt8(ascii: "*"):
      index += 1
      while index + 1 < bytes.count, !(bytes[index] == UInt8(ascii: "*") && bytes[index + 1] == UInt8(ascii: "/")) {
        index += 1
      }
      guard index + 1 < bytes.count else { throw JSONError("the comment is not closed", at: start, in: bytes) }
      index += 2
    default:
      throw JSONError("found '/' where a value or a comment should be", at: start, in: bytes)
    }
  }
}

func hex(_ byte: UInt8) -> String {
  let text = String(byte, radix: 16, uppercase: true)
  return text.count == 1 ? "0" + text : text
}
