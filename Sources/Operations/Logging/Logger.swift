import JSON

/// Writes events, a line each, in one write(2).
///
/// A message is constant text and all data is metadata; below the logger's level nothing of it is computed.
public struct Logger: Sendable {
  /// The least severe level that is written.
  public let level: LogLevel
  private let format: LogFormat
  private let sink: any ByteSink
  private let clocks: any Clocks
  private var bound: LogMetadata = [:]

  /// A logger on standard error unless given another sink.
  public init(
    level: LogLevel, format: LogFormat = .text, clocks: any Clocks = SystemClocks(),
    sink: any ByteSink = DescriptorSink.standardError
  ) {
    self.level = level
    self.format = format
    self.sink = sink
    self.clocks = clocks
  }

  /// A logger as the settings say.
  public init(_ settings: Configuration.Log, clocks: any Clocks = SystemClocks()) {
    self.init(level: settings.level, format: settings.format, clocks: clocks)
  }

  /// A logger whose every line also has these fields: an id once known stays on every line.
  public func with(_ metadata: LogMetadata) -> Logger {
    var logger = self
    logger.bound.fields += metadata.fields
    return logger
  }

  /// Someone must act.
  public func error(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.error, message, metadata)
  }

  /// It will become an error.
  public func warning(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.warning, message, metadata)
  }

  /// Start, stop, configuration, migration.
  public func info(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.info, message, metadata)
  }

  /// A line per event of a connection.
  public func debug(_ message: StaticString, _ metadata: @autoclosure () -> LogMetadata = [:]) {
    log(.debug, message, metadata)
  }

  private func log(_ level: LogLevel, _ message: StaticString, _ metadata: () -> LogMetadata) {
    guard level <= self.level else { return }
    let line = LogLine(
      time: clocks.wallTime(), level: level, message: message, fields: bound.fields + metadata().fields)
    // A log that cannot be written must not stop the work that it tells of; nobody is left to be told.
    try? sink.write(line.bytes(format))
  }
}

/// One event before it is written.
struct LogLine {
  let time: UnixMilliseconds
  let level: LogLevel
  let message: StaticString
  let fields: [(key: StaticString, value: LogValue)]

  /// The line with its line feed.
  func bytes(_ format: LogFormat) -> [UInt8] {
    switch format {
    case .text: text
    case .json: json
    }
  }

  private var text: [UInt8] {
    var line = "\(RFC3339.format(time)) \(level.rawValue) \(message)"
    for (key, value) in fields { line += " \(key)=\(quoted(value))" }
    return Array(line.utf8) + [UInt8(ascii: "\n")]
  }

  private var json: [UInt8] {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("time", RFC3339.format(time))
      writer.member("level", level.rawValue)
      writer.member("message", "\(message)")
      for (key, value) in fields {
        switch value {
        case .string(let text): writer.member("\(key)", text)
        case .integer(let number): writer.member("\(key)", number)
        case .bool(let flag): writer.member("\(key)", flag)
        }
      }
    }
    return writer.bytes + [UInt8(ascii: "\n")]
  }

  /// The value as it stands after `=`: in quotes unless it is plain, so that no value can begin a line or a field.
  private func quoted(_ value: LogValue) -> String {
    switch value {
    case .integer(let number): return String(number)
    case .bool(let flag): return String(flag)
    case .string(let text):
      let isPlain = !text.isEmpty && !text.utf8.contains { " =\"\\".utf8.contains($0) }
      if isPlain, PrintableText.escaped(text) == text { return text }
      let inner = text.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : String($0) }.joined()
      return "\"\(PrintableText.escaped(inner))\""
    }
  }
}
