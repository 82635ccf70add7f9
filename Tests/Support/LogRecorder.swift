import Operations

/// Takes a logger's lines for a test, which can wait for one.
public final class LogRecorder: ByteSink {
  private let recorded = Watched<[UInt8]>([])

  /// No person reads along.
  public let isTerminal = false

  /// A recorder without lines.
  public init() {}

  /// A logger that writes to this recorder everything from `level` on.
  public func logger(
    level: LogLevel = .debug, format: LogFormat = .text, clocks: any Clocks = SystemClocks()
  ) -> Logger {
    Logger(level: level, format: format, clocks: clocks, sink: self)
  }

  /// Takes a line.
  public func write(_ bytes: [UInt8]) { recorded.update { $0 += bytes } }

  /// The lines so far.
  public var lines: [String] { Self.lines(recorded.current) }

  /// Returns the first line that contains `text`, already written or to come.
  public func line(containing text: String, within limit: Duration = .seconds(10)) async throws -> String {
    let all = try await recorded.wait(within: limit, "waiting for a log line with '\(text)'") { bytes in
      Self.lines(bytes).contains { $0.contains(text) }
    }
    return Self.lines(all).first { $0.contains(text) } ?? ""
  }

  private static func lines(_ bytes: [UInt8]) -> [String] {
    bytes.split(separator: UInt8(ascii: "\n")).map { String(decoding: $0, as: UTF8.self) }
  }
}
