import JSON
import Operations

/// Something that a script may not say.
public struct ScriptFault: Sendable, Equatable, CustomStringConvertible {
  /// The line in the file, from 1.
  public let line: Int
  /// The column in bytes, from 1.
  public let column: Int
  /// What is wrong there and what is right.
  public let message: String

  /// `LINE:COLUMN: MESSAGE`.
  public var description: String { "\(line):\(column): \(message)" }
}

/// The faults of a script, in the order of their places.
public struct ScriptError: Error, Sendable, Equatable {
  /// The faults; at least one. Behind a hundred one more says how many there are.
  public let faults: [ScriptFault]
}

extension FaultScript {
  /// Reads a script: JSON, comments and trailing commas allowed. Throws ``ScriptError``.
  public init(parsing bytes: [UInt8]) throws(ScriptError) {
    var reader = ScriptReader(bytes)
    self = reader.read(bytes) { $0.script($1) } ?? FaultScript()
    try reader.finish()
  }
}

extension FaultScript {
  /// The largest script taken, in bytes.
  static let sizeLimitBytes = 1 << 20

  /// Reads a script from a file. Throws ``SimulatorError`` with the faults and their places.
  public init(file path: String) throws(SimulatorError) {
    do {
      try self.init(parsing: try Files.read(path, limit: Self.sizeLimitBytes))
    } catch let error as ScriptError {
      throw SimulatorError(.script, error.faults.map { "\(path):\($0)" }.joined(separator: "\n"))
    } catch {
      throw SimulatorError(.script, "--script: \(error)")
    }
  }
}

/// Reads values of a script and notes what is wrong with them. Where nil is returned, a fault is noted.
struct ScriptReader {
  private static let reportedFaults = 100

  private let bytes: [UInt8]
  /// Where each line begins.
  private let lineStarts: [Int]
  private var faults: [ScriptFault] = []

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    lineStarts = [0] + bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
  }

  /// The document, read by `body`; nil, with a fault, when it is no JSON.
  mutating func read<Result>(
    _ bytes: [UInt8], _ body: (inout ScriptReader, JSONValue) -> Result?
  ) -> Result? {
    do {
      return body(&self, try JSONValue(parsing: bytes, syntax: .relaxed))
    } catch {
      faults.append(ScriptFault(line: error.line, column: error.column, message: error.message))
      return nil
    }
  }

  /// Throws what was found.
  func finish() throws(ScriptError) {
    guard !faults.isEmpty else { return }
    let sorted = faults.sorted { ($0.line, $0.column) < ($1.line, $1.column) }
    var reported = Array(sorted.prefix(Self.reportedFaults))
    if let next = sorted.dropFirst(reported.count).first {
      let message = "and \(sorted.count - reported.count) more from here on, \(sorted.count) in all"
      reported.append(ScriptFault(line: next.line, column: next.column, message: message))
    }
    throw ScriptError(faults: reported)
  }

  mutating func fault(at offset: Int, _ message: String) {
    let place = min(offset, bytes.count)
    let line = line(of: place)
    faults.append(ScriptFault(line: line, column: place - lineStarts[line - 1] + 1, message: message))
  }

  /// The line of an offset, from 1.
  private func line(of place: Int) -> Int {
    var lines = 0..<lineStarts.count
    while lines.count > 1 {
      let middle = lines.lowerBound + lines.count / 2
      lines = lineStarts[middle] <= place ? middle..<lines.upperBound : lines.lowerBound..<middle
    }
    return lines.lowerBound + 1
  }

  mutating func fault(_ value: JSONValue, _ message: String) { fault(at: value.range.lowerBound, message) }

  /// Notes that a value is not what it has to be, and what it is.
  mutating func mismatch(_ value: JSONValue, _ expected: String) {
    let text = String(decoding: bytes[value.range].prefix(25), as: UTF8.self)
    let isShown = value.array == nil && value.object == nil && value.range.count <= 24
    fault(value, "must be \(expected), not \(isShown ? text : value.kindName)")
  }

  /// The members of an object whose names stand once and are all known; with nil any name is.
  mutating func members(_ value: JSONValue, known: [String]? = nil) -> [JSONMember] {
    guard let members = value.object else {
      mismatch(value, "an object")
      return []
    }
    var seen: Set<String> = []
    return members.filter { member in
      let place = member.nameRange.lowerBound
      if let known, !known.contains(member.name) {
        let nearest =
          NearestName.nearest(to: member.name, in: known).map { "; the nearest known name is '\($0)'" } ?? ""
        fault(at: place, "'\(member.name)' is unknown\(nearest)")
        return false
      }
      if !seen.insert(member.name).inserted { fault(at: place, "'\(member.name)' is given twice") }
      return true
    }
  }

  mutating func integer(_ value: JSONValue, _ range: ClosedRange<Int>) -> Int? {
    if let number = value.integer, let integer = Int(exactly: number), range.contains(integer) { return integer }
    mismatch(value, "a whole number from \(range.lowerBound) to \(range.upperBound)")
    return nil
  }

  mutating func string(_ value: JSONValue) -> String? {
    if let text = value.string { return text }
    mismatch(value, "a string")
    return nil
  }

  mutating func flag(_ value: JSONValue) -> Bool {
    if value.bool != true { mismatch(value, "true or left out") }
    return true
  }

  /// One of the words of an enum.
  mutating func word<Word: RawRepresentable & CaseIterable>(_ value: JSONValue) -> Word? where Word.RawValue == String {
    if let word = value.string.flatMap(Word.init(rawValue:)) { return word }
    mismatch(value, "one of \(Word.allCases.map(\.rawValue).joined(separator: ", "))")
    return nil
  }

  mutating func duration(_ value: JSONValue) -> Duration? {
    if let text = value.string {
      do {
        return try DurationText.parse(text)
      } catch {
        fault(value, "\(error)")
        return nil
      }
    }
    mismatch(value, "a duration such as \"500ms\"")
    return nil
  }

  /// Milliseconds, from a duration behind `+` or `-`.
  mutating func offset(_ value: JSONValue) -> Int64? {
    if let text = value.string, let sign = text.first, sign == "+" || sign == "-" {
      // The sentence below names the form.
      if let duration = try? DurationText.parse(String(text.dropFirst())) {
        return sign == "-" ? -duration.wholeMilliseconds : duration.wholeMilliseconds
      }
    }
    mismatch(value, "\"+DURATION\" or \"-DURATION\", such as \"+70m\"")
    return nil
  }
}
