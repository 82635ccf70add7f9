import Support
import Testing

extension Fixture {
  /// The value of the first `NAME=value` line, without quotes.
  static func variable(_ name: String, in file: String) throws -> String {
    let lines = try text(file).split(whereSeparator: \.isNewline)
    let line = try #require(lines.first { $0.hasPrefix("\(name)=") })
    let value = line.dropFirst(name.count + 1)
    return value.hasPrefix("\"") ? String(value.dropFirst().dropLast()) : String(value)
  }

  /// The fields of each line of a tab-separated file, without comments and its header line.
  static func table(_ name: String) throws -> [[String]] {
    try text(name).split(separator: "\n").filter { !$0.hasPrefix("#") }.dropFirst()
      .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
  }
}

/// One row of `cases.tsv`: an input and what it must give.
struct Case: Sendable, CustomTestStringConvertible {
  let file: String
  let outcome: String
  let expected: String

  var testDescription: String { file }

  /// The rows whose file name begins so; none when the table is missing, which a test of their number notices.
  static func all(_ prefix: String) -> [Case] {
    let rows = (try? Fixture.table("cases.tsv")) ?? []
    return rows.filter { $0[0].hasPrefix(prefix) }.map {
      Case(file: $0[0], outcome: $0[2], expected: $0[3])
    }
  }
}
