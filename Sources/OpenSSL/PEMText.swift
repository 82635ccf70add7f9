/// The blocks of a PEM text (RFC 7468), read from what people really have: any line ends or none, a byte order mark,
/// text before and between the blocks, `\n` spelled out as environment variables carry it.
struct PEMText {
  /// One `-----BEGIN label-----` … `-----END label-----`.
  struct Block {
    let label: String
    /// What stands between the two lines.
    let body: [UInt8]

    /// Whether the body has the header of a password-protected key of the old form (RFC 1421).
    var isEncrypted: Bool {
      PEMText.firstRange(of: "ENCRYPTED", in: body, from: 0) != nil && body.contains(UInt8(ascii: ":"))
    }

    /// The bytes that the body encodes; nil when its base64 is damaged.
    var der: [UInt8]? { Base64Decoder.decodeStandard(body) }
  }

  /// The blocks, in order.
  private(set) var blocks: [Block] = []
  /// Whether a block begins and does not end.
  private(set) var isTruncated = false

  init(_ text: [UInt8]) {
    let text = Self.withRealLineEnds(text)
    var index = 0
    while let begin = Self.firstRange(of: "-----BEGIN ", in: text, from: index) {
      guard let labelEnd = Self.firstRange(of: "-----", in: text, from: begin.upperBound),
        let label = String(validating: text[begin.upperBound..<labelEnd.lowerBound], as: UTF8.self),
        label.utf8.count <= 64,
        let end = Self.firstRange(of: "-----END \(label)-----", in: text, from: labelEnd.upperBound)
      else {
        isTruncated = true
        return
      }
      blocks.append(Block(label: label, body: Array(text[labelEnd.upperBound..<end.lowerBound])))
      index = end.upperBound
    }
  }

  /// Turns `\n` and `\r` of two characters into line ends; a backslash has no meaning in PEM.
  private static func withRealLineEnds(_ text: [UInt8]) -> [UInt8] {
    guard text.contains(UInt8(ascii: "\\")) else { return text }
    var result: [UInt8] = []
    var index = 0
    while index < text.count {
      let next = index + 1 < text.count ? text[index + 1] : 0
      if text[index] == UInt8(ascii: "\\"), next == UInt8(ascii: "n") || next == UInt8(ascii: "r") {
        result.append(0x0A)
        index += 2
      } else {
        result.append(text[index])
        index += 1
      }
    }
    return result
  }

  private static func firstRange(of word: String, in text: [UInt8], from start: Int) -> Range<Int>? {
    let word = Array(word.utf8)
    guard text.count >= word.count, start <= text.count - word.count else { return nil }
    for index in start...(text.count - word.count) where text[index..<(index + word.count)].elementsEqual(word) {
      return index..<(index + word.count)
    }
    return nil
  }
}
