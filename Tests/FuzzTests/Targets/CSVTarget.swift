import Operations

@testable import Composition

extension FuzzTarget {
  /// CSV files, read at once, byte by byte, and by a second reader that only knows whole files.
  static let csv = FuzzTarget(name: "csv") { bytes in
    let whole = records([bytes])
    try require(records(bytes.map { [$0] }) == whole, "read byte by byte the file has other records")
    try require(whole == PlainCSV.records(bytes), "the file has other records than RFC 4180 gives it")
    for case .success(let record) in whole {
      let quoted = record.fields.map { "\"\($0.replacing("\"", with: "\"\""))\"" }.joined(separator: ",")
      try require(
        records([Array((quoted + "\r\n").utf8)]) == [.success(CSVRecord(line: 1, fields: record.fields))],
        "a record, quoted, is another")
    }
    var table = CSVTable(columns: ["token", "topic", "user"], required: ["token"])
    var rows: [CSVTable.Row] = []
    do {
      try table.read(bytes) { if case .success(let row) = $0 { rows.append(row) } }
      try table.finish { if case .success(let row) = $0 { rows.append(row) } }
    } catch let fault as CSVTable.FileFault {
      try require(fault.description.unicodeScalars.allSatisfy(isShown), "a message shows control characters")
    }
    for row in rows {
      _ = try? DeviceRow(
        token: row["token"] ?? "", topic: row["topic"], environment: nil, user: row["user"], interests: nil,
        language: row["user"]
      ).registration(Configuration())
    }
  }

  private static func records(_ pieces: [[UInt8]]) -> [Result<CSVRecord, CSVFault>] {
    var parser = CSVParser()
    var records: [Result<CSVRecord, CSVFault>] = []
    for piece in pieces { parser.read(piece) { records.append($0) } }
    parser.finish { records.append($0) }
    return records
  }
}

/// Reads a whole file by the same rules, written for plainness.
private enum PlainCSV {
  static func records(_ bytes: [UInt8]) -> [Result<CSVRecord, CSVFault>] {
    var records: [Result<CSVRecord, CSVFault>] = []
    var rest = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...]
    var line = 1
    let isWide = bytes.first == 0xFE || bytes.first == 0xFF
    while !rest.isEmpty {
      let begin = line
      var fields: [[UInt8]] = []
      var fault = isWide && records.isEmpty && begin == 1 ? "the file is UTF-16; save it as UTF-8" : nil
      var isQuoted = false
      repeat {
        if !fields.isEmpty { rest.removeFirst() }
        let (field, quoted) = Self.field(&rest, &line, &fault)
        fields.append(field)
        isQuoted = quoted
      } while rest.first == UInt8(ascii: ",")
      let isBlank = fields.count == 1 && !isQuoted && fields[0].allSatisfy { $0 == 0x20 || $0 == 0x09 } && fault == nil
      if rest.popFirst() == 0x0D, rest.first == 0x0A { rest.removeFirst() }
      line += 1
      if isBlank { continue }
      let texts = fields.compactMap { String(validating: $0, as: UTF8.self) }
      if texts.count < fields.count { fault = fault ?? "the line is not valid UTF-8" }
      records.append(
        fault.map { .failure(CSVFault(line: begin, message: $0)) } ?? .success(CSVRecord(line: begin, fields: texts)))
    }
    return records
  }

  /// The field at the front, without what ends it.
  private static func field(
    _ rest: inout ArraySlice<UInt8>, _ line: inout Int, _ fault: inout String?
  ) -> (bytes: [UInt8], isQuoted: Bool) {
    var field: [UInt8] = []
    let isQuoted = rest.first == UInt8(ascii: "\"")
    if isQuoted {
      rest.removeFirst()
      while true {
        guard let byte = rest.popFirst() else {
          fault = fault ?? "the quoted field is not closed"
          return (field, true)
        }
        if byte == UInt8(ascii: "\"") {
          guard rest.first == byte else { break }
          rest.removeFirst()
        }
        if byte == 0x0A && field.last != 0x0D || byte == 0x0D { line += 1 }
        field.append(byte)
      }
    }
    let tail = rest.prefix { $0 != UInt8(ascii: ",") && $0 != 0x0A && $0 != 0x0D }
    rest = rest.dropFirst(tail.count)
    if isQuoted, !tail.isEmpty { fault = fault ?? "there is text behind a closing quote" }
    return (field + tail, isQuoted)
  }
}
