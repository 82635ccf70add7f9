/// Builds one JSON text front to back: members in the order written, `/` and non-ASCII characters as they are.
///
/// The caller closes what it opens; commas are the writer's.
public struct JSONWriter: Sendable {
  /// The text so far, UTF-8.
  public private(set) var bytes: [UInt8] = []
  private var needsComma = false

  /// An empty text.
  public init() {}

  /// The text so far.
  public var text: String { String(decoding: bytes, as: UTF8.self) }

  /// Writes an object whose members `body` writes with ``member(_:_:)-swift.method`` and its siblings.
  public mutating func object(_ body: (inout JSONWriter) -> Void) {
    nested("{", "}", body)
  }

  /// Writes an array whose elements `body` writes.
  public mutating func array(_ body: (inout JSONWriter) -> Void) {
    nested("[", "]", body)
  }

  /// Writes a member's name; the next call writes its value.
  public mutating func name(_ name: String) {
    value { $0.appendQuoted(name) }
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  /// Writes a string, or `null`.
  public mutating func string(_ text: String?) {
    guard let text else { return null() }
    value { $0.appendQuoted(text) }
  }

  /// Writes a whole number, or `null`.
  public mutating func integer(_ number: (some BinaryInteger)?) {
    guard let number else { return null() }
    value { $0.bytes.append(contentsOf: String(number).utf8) }
  }

  /// Writes `true` or `false`.
  public mutating func bool(_ flag: Bool) {
    value { $0.bytes.append(contentsOf: (flag ? "true" : "false").utf8) }
  }

  /// Writes `null`.
  public mutating func null() {
    value { $0.bytes.append(contentsOf: "null".utf8) }
  }

  /// Writes bytes that are one JSON value already.
  public mutating func raw(_ json: some Sequence<UInt8>) {
    value { $0.bytes.append(contentsOf: json) }
  }

  /// Writes a member with a string, or with `null`.
  public mutating func member(_ name: String, _ text: String?) {
    self.name(name)
    string(text)
  }

  /// Writes a member with a whole number, or with `null`.
  public mutating func member(_ name: String, _ number: (some BinaryInteger)?) {
    self.name(name)
    integer(number)
  }

  /// Writes a member with a truth value.
  public mutating func member(_ name: String, _ flag: Bool) {
    self.name(name)
    bool(flag)
  }

  /// Writes a member whose value is an array of strings.
  public mutating func member(_ name: String, _ texts: [String]) {
    self.name(name)
    array { for text in texts { $0.string(text) } }
  }

  private mutating func nested(_ open: Character, _ close: Character, _ body: (inout JSONWriter) -> Void) {
    value { $0.bytes.append(contentsOf: String(open).utf8) }
    needsComma = false
    body(&self)
    bytes.append(contentsOf: String(close).utf8)
    needsComma = true
  }

  private mutating func value(_ append: (inout JSONWriter) -> Void) {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    append(&self)
    needsComma = true
  }

  private mutating func appendQuoted(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): bytes.append(contentsOf: "\\\"".utf8)
      case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
      case 0x0A: bytes.append(contentsOf: "\\n".utf8)
      case 0x0D: bytes.append(contentsOf: "\\r".utf8)
      case 0x09: bytes.append(contentsOf: "\\t".utf8)
      case 0..<0x20: bytes.append(contentsOf: "\\u00\(hex(byte).lowercased())".utf8)
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
