import JSON

/// A payload with placeholders: `{{name}}` in its strings stands for a value of the recipient.
///
/// A name is a letter or `_`, then letters, digits and `_` (ASCII). Only strings that are values are looked at: keys stay as they are. So
/// do braces that are written as JSON escapes (`\u007b\u007b`), and braces in a value that is put in. Every other byte is the sender's.
public struct PayloadTemplate: Sendable, Equatable {
  private enum Part: Sendable, Equatable {
    case bytes(Range<Int>)
    /// By its index in `names`.
    case placeholder(Int)
  }

  /// The names of the placeholders, each once, in the order in which they appear first.
  public private(set) var names: [String] = []
  private let payload: [UInt8]
  private var parts: [Part] = []
  /// The end of the last part.
  private var end = 0

  /// Finds the placeholders of a payload.
  ///
  /// - Throws: when `{{` begins none: more likely a slip than meant for people's eyes.
  public init(_ payload: Payload) throws(Payload.Fault) {
    self.payload = payload.bytes
    for member in payload.root { try scan(member.value) }
    parts.append(.bytes(end..<self.payload.count))
  }

  /// The payload with values in place of the placeholders.
  ///
  /// - Parameter values: one for each name, in their order, as ``escaped(_:)`` gives them.
  public func rendered(_ values: [[UInt8]]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(byteCount(values))
    for part in parts {
      switch part {
      case .bytes(let range): bytes.append(contentsOf: payload[range])
      case .placeholder(let name): bytes.append(contentsOf: values[name])
      }
    }
    return bytes
  }

  /// The number of bytes of the payload with these values.
  public func byteCount(_ values: [[UInt8]]) -> Int {
    parts.reduce(0) { count, part in
      switch part {
      case .bytes(let range): count + range.count
      case .placeholder(let name): count + values[name].count
      }
    }
  }

  /// A value as it stands within the quotes of a JSON string.
  public static func escaped(_ value: String) -> [UInt8] {
    var writer = JSONWriter()
    writer.string(value)
    return Array(writer.bytes.dropFirst().dropLast())
  }

  /// The parser bounds the depth.
  private mutating func scan(_ value: JSONValue) throws(Payload.Fault) {
    switch value.kind {
    case .string: try scanString(value.range)
    case .array(let elements): for element in elements { try scan(element) }
    case .object(let members): for member in members { try scan(member.value) }
    case .null, .bool, .number: break
    }
  }

  /// No byte of `{{name}}` can be part of an escape, so that the bytes are looked at as they stand.
  private mutating func scanString(_ range: Range<Int>) throws(Payload.Fault) {
    let brace = UInt8(ascii: "{")
    var index = range.lowerBound
    while index + 1 < range.upperBound {
      guard payload[index] == brace, payload[index + 1] == brace else {
        index += 1
        continue
      }
      guard let nameEnd = endOfName(index + 2, within: range) else {
        throw Payload.Fault(
          "'{{' at byte \(index) begins no placeholder; write {{name}} with letters, digits and _, or \\u007b\\u007b for the braces themselves"
        )
      }
      let name = String(decoding: payload[index + 2..<nameEnd], as: UTF8.self)
      let place = names.firstIndex(of: name) ?? names.count
      if place == names.count { names.append(name) }
      parts += [.bytes(end..<index), .placeholder(place)]
      end = nameEnd + 2
      index = end
    }
  }

  /// Where the name that begins at `start` ends; nil when it is none, or is not followed by `}}`.
  private func endOfName(_ start: Int, within range: Range<Int>) -> Int? {
    var index = start
    while index < range.upperBound, Self.isOfName(payload[index], isFirst: index == start) { index += 1 }
    let brace = UInt8(ascii: "}")
    guard index > start, index + 1 < range.upperBound, payload[index] == brace, payload[index + 1] == brace else {
      return nil
    }
    return index
  }

  private static func isOfName(_ byte: UInt8, isFirst: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): !isFirst
    default: false
    }
  }
}
