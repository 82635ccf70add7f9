import Foundation
import Testing

/// The data beside these tests.
enum Fixture {
  static func path(_ name: String) -> String {
    URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)").path
  }

  static func bytes(_ name: String) throws -> [UInt8] {
    Array(try Data(contentsOf: URL(filePath: path(name))))
  }

  static func text(_ name: String) throws -> String {
    String(decoding: try bytes(name), as: UTF8.self)
  }

  /// The value of the first `NAME=value` line.
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

  static func all(_ prefix: String) -> [Case] {
    // A missing table fails the test that counts the rows.
    let rows = (try? Fixture.table("cases.tsv")) ?? []
    return rows.filter { $0[0].hasPrefix(prefix) }.map { Case(file: $0[0], outcome: $0[2], expected: $0[3]) }
  }
}
