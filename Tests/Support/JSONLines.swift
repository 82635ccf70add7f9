import Foundation
import JSON

/// JSON values, one a line, as another process writes them.
public enum JSONLines {
  /// Those that are there as a whole; the last line may still be coming.
  public static func parse(_ text: some StringProtocol) throws -> [JSONValue] {
    let whole = text.prefix(upTo: text.lastIndex(of: "\n") ?? text.startIndex)
    return try whole.split(separator: "\n").map { try JSONValue(parsing: Array($0.utf8)) }
  }

  /// Those of a file; none when there is no file yet.
  public static func read(_ path: String) throws -> [JSONValue] {
    guard FileManager.default.fileExists(atPath: path) else { return [] }
    return try parse(String(decoding: Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self))
  }
}
