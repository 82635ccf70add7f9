import Support
import Testing

@testable import Composition

@Suite("CSV files")
struct CSVTests {
  private func rows(_ bytes: [UInt8], piece: Int = 7) throws -> [Result<[String], CSVTable.RowFault>] {
    var table = CSVTable(columns: ["token", "title", "body"], required: ["token"])
    var rows: [Result<[String], CSVTable.RowFault>] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      try table.read(Array(bytes[start..<min(start + piece, bytes.count)])) { rows.append($0.map(\.fields)) }
    }
    try table.finish { rows.append($0.map(\.fields)) }
    return rows
  }

  @Test(
    "a mark, any line ends, blank lines and a missing last line end are accepted, whatever the pieces",
    arguments: [
      "batch-bom.csv", "batch-crlf.csv", "batch-cr-only.csv", "batch-blank-lines.csv", "batch-no-trailing-newline.csv",
    ], [1, 7, 4096])
  func accepted(file: String, piece: Int) throws {
    let rows = try rows(Fixture.bytes(file), piece: piece)

    #expect(try rows.map { try $0.get().dropFirst().joined(separator: "|") } == ["Hello|One", "Hello|Two"])
    #expect(try rows.allSatisfy { try $0.get()[0].utf8.count == 64 })
  }

  @Test("bytes of a mark that is none stay in the file", arguments: [1, 7])
  func noMark(piece: Int) throws {
    let half = Array("token\n".utf8) + [0xEF, 0xBB, 0x0A, 0xBF, 0x0A]
    let isBad: (Result<[String], CSVTable.RowFault>) -> Bool = { if case .failure = $0 { true } else { false } }

    #expect(try rows(half, piece: piece).map(isBad) == [true, true])
    #expect(throws: CSVTable.FileFault.self) { try rows([0xEF] + Array("token\nab\n".utf8), piece: piece) }
    #expect(throws: CSVTable.FileFault.self) { try rows([0x0A, 0xBB] + Array("token\nab\n".utf8), piece: piece) }
  }

  @Test("a line of separators alone is bounded like any other, and the next one is read")
  func separators() throws {
    let bytes = Array("token\n".utf8) + [UInt8](repeating: UInt8(ascii: ","), count: 3 << 20) + Array("\nab\n".utf8)

    let rows = try rows(bytes, piece: 65_536)

    #expect(rows.count == 2)
    #expect(rows[0] == .failure(.init(line: 2, message: "the record is longer than 1048576 bytes")))
    #expect(rows[1] == .success(["ab"]))
  }

  @Test("a column name's control characters are not shown")
  func columnName() {
    #expect {
      try rows(Array("to\u{1B}[2Jken\nab\n".utf8))
    } throws: {
      "\($0)".contains("to\\u{1B}[2Jken")
    }
  }

  @Test("quotes keep commas, doubled quotes and line ends")
  func quoted() throws {
    let rows = try rows(Fixture.bytes("batch-quoted.csv")).map { try $0.get() }

    #expect(rows.map { Array($0.dropFirst()) } == [["Hi, you", "She said \"go\"\nnow"], ["Plain", "ends"]])
  }

  @Test("a row with a field missing is reported with its line, and the others are used")
  func shortRow() throws {
    let rows = try rows(Fixture.bytes("batch-short-row.csv"))

    #expect(rows.count == 3)
    #expect(rows[1] == .failure(.init(line: 3, message: "1 fields, expected 3")))
  }

  @Test("bytes that are no UTF-8 are a fault of their row, not a replacement character")
  func latin1() throws {
    let rows = try rows(Fixture.bytes("batch-latin1.csv"))

    #expect(rows == [.failure(.init(line: 2, message: "the line is not valid UTF-8"))])
  }

  @Test(
    "a file whose header cannot be read is refused whole",
    arguments: [
      ("batch-semicolon.csv", "separated by ';'"), ("batch-utf16.csv", "UTF-16"),
      ("batch-bom-no-header.csv", "no column"),
    ])
  func refused(file: String, words: String) throws {
    let bytes = try Fixture.bytes(file)
    let fault = #expect(throws: CSVTable.FileFault.self) { try rows(bytes) }

    #expect(fault?.description.contains(words) == true, "\(fault?.description ?? "")")
  }

  @Test("an unclosed quote is a fault at the line where its record begins")
  func unclosed() throws {
    let rows = try rows(Array("token,title,body\naa,\"b,c\nd".utf8))

    #expect(rows == [.failure(.init(line: 2, message: "the quoted field is not closed"))])
  }

  @Test("an empty file says what its first line should be")
  func empty() throws {
    let fault = #expect(throws: CSVTable.FileFault.self) { try rows([]) }

    #expect(fault?.description.contains("token, title, body") == true)
  }
}
