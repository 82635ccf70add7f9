import Foundation

@testable import JSON

extension FuzzTarget {
  /// The JSON parser, strict and relaxed, against itself and against Foundation's.
  static let json = FuzzTarget(name: "json") { bytes in
    let strict = Result { try JSONValue(parsing: bytes) }
    let relaxed = Result { try JSONValue(parsing: bytes, syntax: .relaxed) }
    if case .success(let value) = strict {
      guard case .success(let other) = relaxed else { throw Violation("relaxed refuses what strict takes") }
      try require(value == other, "strict and relaxed read different values")
      try checkSpelling(value, in: bytes, within: bytes.indices.lowerBound..<bytes.count)
      try require(
        bytes[..<value.range.lowerBound].allSatisfy(isSpace) && bytes[value.range.upperBound...].allSatisfy(isSpace),
        "there is more than white space around a strict document")
    }
    if case .success(let value) = relaxed { try checkSpelling(value, in: bytes, within: 0..<bytes.count) }
    for case .failure(let error) in [strict, relaxed] {
      guard let error = error as? JSONError else { throw Violation("another error than JSONError") }
      try require((0...bytes.count).contains(error.offset), "the fault is outside the document")
      try require(error.line >= 1 && error.column >= 1, "line or column below 1")
    }
    try compareWithFoundation(strict, bytes)
    try checkWriter(String(decoding: bytes, as: UTF8.self))
  }

  /// Each value, parsed alone from its bytes, is the same value; parts lie in order within their whole.
  private static func checkSpelling(_ value: JSONValue, in bytes: [UInt8], within bounds: Range<Int>) throws {
    try require(
      value.range.lowerBound >= bounds.lowerBound && value.range.upperBound <= bounds.upperBound
        && !value.range.isEmpty, "a value's range lies outside of its parent's")
    switch value.kind {
    case .object(let members):
      var start = value.range.lowerBound + 1
      for member in members {
        try require(member.nameRange.lowerBound >= start, "a name's range overlaps what is before it")
        let name = try? JSONValue(parsing: Array(bytes[member.nameRange])).string
        try require(name.map { $0.hasSameBytes(as: member.name) } == true, "a name's range does not hold the name")
        try checkSpelling(member.value, in: bytes, within: member.nameRange.upperBound + 1..<value.range.upperBound - 1)
        start = member.value.range.upperBound
      }
    case .array(let elements):
      var start = value.range.lowerBound + 1
      for element in elements {
        try checkSpelling(element, in: bytes, within: start..<value.range.upperBound - 1)
        start = element.range.upperBound
      }
    case .number(let number):
      try require(number.text.utf8.elementsEqual(bytes[value.range]), "a number lost its spelling")
      try require(number.double.isFinite, "a number is not finite")
    case .string, .bool, .null:
      let alone = try? JSONValue(parsing: Array(bytes[value.range]))
      try require(alone?.kind == value.kind, "a scalar's range does not hold the scalar")
    }
  }

  /// What our strict parser refuses and Foundation's takes must be one of the differences that are meant.
  private static func compareWithFoundation(_ ours: Result<JSONValue, any Error>, _ bytes: [UInt8]) throws {
    let theirs = try? JSONSerialization.jsonObject(with: Data(bytes), options: [.fragmentsAllowed])
    switch ours {
    case .success:
      // Foundation also looks at the bytes for UTF-16 and UTF-32, and a number may be too long for it.
      let isPlain = bytes.count < 64 && bytes.allSatisfy { $0 != 0 }
      try require(theirs != nil || !isPlain, "strict takes what Foundation refuses")
    case .failure(let error):
      let meant = [
        "the text begins with a byte order mark", "a comma before the closing bracket", "nested more than",
        "the number is too large", "the text is UTF-16", "half of a surrogate pair",
      ]
      let message = (error as? JSONError)?.message ?? ""
      let isWide = bytes.contains(0)
      try require(
        theirs == nil || isWide || meant.contains(where: message.hasPrefix),
        "strict refuses what Foundation takes: \(message)")
    }
  }

  /// Any text that is written is read back.
  private static func checkWriter(_ text: String) throws {
    var writer = JSONWriter()
    writer.object {
      $0.member(text, text)
      $0.member("b", [text])
    }
    let value = try JSONValue(parsing: writer.bytes)
    guard let member = value.object?.first, let string = member.value.string else {
      throw Violation("a written object is read without its member")
    }
    try require(member.name.hasSameBytes(as: text) && string.hasSameBytes(as: text), "a written text is read otherwise")
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
