import JSON

/// JSON on one line.
enum CompactJSON {
  /// The text without the white space between its parts and otherwise byte for byte; nil when it is not JSON.
  static func compacted(_ text: [UInt8]) -> [UInt8]? {
    // What is wrong with a payload stands in the warnings.
    guard (try? JSONValue(parsing: text)) != nil else { return nil }
    var compact: [UInt8] = []
    compact.reserveCapacity(text.count)
    var isInString = false
    var isEscaped = false
    for byte in text {
      if isInString {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isInString = false
        }
      } else if byte == UInt8(ascii: "\"") {
        isInString = true
      } else if byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D {
        continue
      }
      compact.append(byte)
    }
    return compact
  }
}
