import Operations

/// A CSV file with a header row: columns are found by name, and unknown ones are refused before any row is used.
public struct CSVTable: Sendable {
  /// One row.
  public struct Row: Sendable {
    /// The line it begins on, from 1.
    public let line: Int
    let fields: [String]
    let columns: [String: Int]

    /// The field of a column; nil when the file does not have the column.
    public subscript(column: String) -> String? { columns[column].map { fields[$0] } }
  }

  /// A row that cannot be used.
  public struct RowFault: Error, Sendable, Equatable, CustomStringConvertible {
    /// The line, from 1.
    public let line: Int
    /// What is wrong.
    public let message: String

    /// A fault at a line.
    public init(line: Int, message: String) {
      self.line = line
      self.message = message
    }

    /// Line and message.
    public var description: String { "line \(line): \(message)" }
  }

  /// A file that cannot be used at all; ends a program with 65.
  public struct FileFault: ExitCodeProviding, Equatable, CustomStringConvertible {
    /// What is wrong and what to do.
    public let description: String

    /// 65.
    public var exitCode: ExitCode { .badData }
  }

  private let known: [String]
  private let required: [String]
  private var columns: [String: Int]?
  private var width = 0
  private var parser = CSVParser()

  /// A table of which these columns are known.
  public init(columns: [String], required: [String]) {
    known = columns
    self.required = required
  }

  /// Reads a piece of the file; rows and bad rows come in order.
  public mutating func read(
    _ bytes: [UInt8], row: (Result<Row, RowFault>) throws -> Void
  ) throws {
    var parser = parser
    try parser.read(bytes) { try take($0, row) }
    self.parser = parser
  }

  /// Ends the file.
  public mutating func finish(row: (Result<Row, RowFault>) throws -> Void) throws {
    var parser = parser
    try parser.finish { try take($0, row) }
    if columns == nil {
      throw FileFault(description: "the file is empty; its first line names the columns: \(list(known))")
    }
  }

  private mutating func take(
    _ record: Result<CSVRecord, CSVFault>, _ row: (Result<Row, RowFault>) throws -> Void
  ) throws {
    guard let columns else {
      switch record {
      case .success(let header): try readHeader(header)
      case .failure(let fault): throw FileFault(description: "line \(fault.line): \(fault.message)")
      }
      return
    }
    switch record {
    case .failure(let fault): try row(.failure(RowFault(line: fault.line, message: fault.message)))
    case .success(let record) where record.fields.count != width:
      try row(.failure(RowFault(line: record.line, message: "\(record.fields.count) fields, expected \(width)")))
    case .success(let record): try row(.success(Row(line: record.line, fields: record.fields, columns: columns)))
    }
  }

  private mutating func readHeader(_ header: CSVRecord) throws {
    var columns: [String: Int] = [:]
    for (index, name) in header.fields.map(trimmed).enumerated() {
      guard known.contains(name) else { throw FileFault(description: unknown(name, in: header)) }
      guard columns.updateValue(index, forKey: name) == nil else {
        throw FileFault(description: "line \(header.line): the column \(name) is there twice")
      }
    }
    for name in required where columns[name] == nil {
      throw FileFault(description: "line \(header.line): the column \(name) is missing; known are \(list(known))")
    }
    self.columns = columns
    width = header.fields.count
  }

  private func unknown(_ name: String, in header: CSVRecord) -> String {
    let place = "line \(header.line): "
    if header.fields.count == 1, name.contains(";") {
      return place + "the header is separated by ';'; separate columns by ','"
    }
    let shown = PrintableText.escaped(name.count > 32 ? "\(name.prefix(8))…" : name)
    let nearest = NearestName.nearest(to: name, in: known).map { "; the nearest is '\($0)'" } ?? ""
    return place + "'\(shown)' is no column\(nearest); the first line names the columns: \(list(known))"
  }

  private func trimmed(_ name: String) -> String {
    String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }

  private func list(_ names: [String]) -> String { names.joined(separator: ", ") }
}
