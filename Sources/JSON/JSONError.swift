/// Where and why a text is not the JSON that was asked for.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Byte offset of the fault, from 0.
  public let offset: Int
  /// Line of the fault, from 1; CR LF, CR and LF each end a line.
  public let line: Int
  /// Column of the fault in bytes, from 1.
  public let column: Int
  /// What is wrong there; names no content of the document beyond a single character.
  public let message: String

  init(_ message: String, at offset: Int, in bytes: Span<UInt8>) {
    var line = 1
    var lineStart = 0
    var index = 0
    while index < min(offset, bytes.count) {
      let byte = bytes[index]
      index += 1
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
        if byte == UInt8(ascii: "\r"), index < offset, bytes[index] == UInt8(ascii: "\n") { index += 1 }
        line += 1
        lineStart = index
      }
    }
    self.offset = offset
    self.line = line
    self.column = offset - lineStart + 1
    self.message = message
  }

  /// The message with its place; safe to show anyone.
  public var description: String { "\(message) (line \(line), column \(column))" }
}
