/// One record of a CSV file.
struct CSVRecord: Equatable {
  /// The line it begins on, from 1.
  var line: Int
  /// The fields, unquoted.
  var fields: [String]
}

/// Something that cannot be read as CSV; the records before and after it can.
struct CSVFault: Error, Equatable {
  /// The line, from 1.
  var line: Int
  /// What is wrong.
  var message: String
}

/// Reads RFC 4180 from pieces of any size: LF, CR LF or CR end a record; one byte order mark, blank lines and a missing last line end
/// are accepted; line ends inside quotes belong to the field.
struct CSVParser {
  /// The longest record taken.
  static let recordLimitBytes = 1 << 20

  private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

  private enum State {
    case fieldStart, unquoted, quoted, quoteInQuoted
  }

  private var state = State.fieldStart
  private var field: [UInt8] = []
  private var fields: [[UInt8]] = []
  private var recordBytes = 0
  private var line = 1
  private var recordLine = 1
  private var wasCarriageReturn = false
  /// How many bytes of a byte order mark were read and held back; nil once the text has begun.
  private var heldMarkBytes: Int? = 0
  private var wasQuoted = false
  private var fault: String?

  /// Reads a piece; calls `emit` for each record or fault that is complete.
  mutating func read(_ bytes: [UInt8], emit: (Result<CSVRecord, CSVFault>) throws -> Void) rethrows {
    for byte in bytes {
      if let held = heldMarkBytes {
        if byte == Self.mark[held] {
          heldMarkBytes = held + 1 < Self.mark.count ? held + 1 : nil
          continue
        }
        if held == 0, byte == 0xFE || byte == 0xFF { fault = "the file is UTF-16; save it as UTF-8" }
        try releaseMark(emit)
      }
      try step(byte, emit)
    }
  }

  /// Reads what was held back and is no mark.
  private mutating func releaseMark(_ emit: (Result<CSVRecord, CSVFault>) throws -> Void) rethrows {
    let held = Self.mark.prefix(heldMarkBytes ?? 0)
    heldMarkBytes = nil
    for byte in held { try step(byte, emit) }
  }

  private mutating func step(_ byte: UInt8, _ emit: (Result<CSVRecord, CSVFault>) throws -> Void) rethrows {
    if wasCarriageReturn, byte == 0x0A {
      wasCarriageReturn = false
      if state == .quoted { append(byte) }
      return
    }
    wasCarriageReturn = byte == 0x0D
    try take(byte, emit)
  }

  /// Ends the file.
  mutating func finish(emit: (Result<CSVRecord, CSVFault>) throws -> Void) rethrows {
    try releaseMark(emit)
    if state == .quoted { fault = fault ?? "the quoted field is not closed" }
    if !fields.isEmpty || !field.isEmpty || wasQuoted || fault != nil { try endRecord(emit) }
  }

  private mutating func take(_ byte: UInt8, _ emit: (Result<CSVRecord, CSVFault>) throws -> Void) rethrows {
    let isLineEnd = byte == 0x0A || byte == 0x0D
    if isLineEnd { line += 1 }
    switch state {
    case .quoted:
      if byte == UInt8(ascii: "\"") { state = .quoteInQuoted } else { append(byte) }
      return
    case .quoteInQuoted where byte == UInt8(ascii: "\""):
      append(byte)
      state = .quoted
      return
    case .fieldStart where byte == UInt8(ascii: "\""):
      state = .quoted
      wasQuoted = true
      recordBytes += 1
      return
    case .fieldStart, .unquoted, .quoteInQuoted: break
    }
    if isLineEnd { return try endRecord(emit) }
    if byte == UInt8(ascii: ",") { return endField() }
    if state == .quoteInQuoted { fault = fault ?? "there is text behind a closing quote" }
    state = .unquoted
    append(byte)
  }

  private mutating func append(_ byte: UInt8) {
    if hasRoom() { field.append(byte) }
  }

  /// Counts a byte of the record: a quote or separator costs memory too.
  private mutating func hasRoom() -> Bool {
    recordBytes += 1
    if recordBytes > Self.recordLimitBytes {
      fault = fault ?? "the record is longer than \(Self.recordLimitBytes) bytes"
    }
    return recordBytes <= Self.recordLimitBytes
  }

  private mutating func endField() {
    if hasRoom() { fields.append(field) }
    field = []
    state = .fieldStart
    wasQuoted = false
  }

  private mutating func endRecord(_ emit: (Result<CSVRecord, CSVFault>) throws -> Void) rethrows {
    let isBlank = fields.isEmpty && !wasQuoted && field.allSatisfy { $0 == 0x20 || $0 == 0x09 } && fault == nil
    endField()
    let at = recordLine
    let raw = fields
    let problem = fault
    fields = []
    recordBytes = 0
    recordLine = line
    fault = nil
    if isBlank { return }
    if let problem { return try emit(.failure(CSVFault(line: at, message: problem))) }
    var texts: [String] = []
    for bytes in raw {
      guard let text = String(validating: bytes, as: UTF8.self) else {
        return try emit(.failure(CSVFault(line: at, message: "the line is not valid UTF-8")))
      }
      texts.append(text)
    }
    try emit(.success(CSVRecord(line: at, fields: texts)))
  }
}
