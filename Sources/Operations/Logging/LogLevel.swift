/// How severe an event is.
public enum LogLevel: String, Sendable, CaseIterable, Comparable {
  /// Someone must act.
  case error
  /// It will become an error.
  case warning
  /// Start, stop, configuration, migration.
  case info
  /// A line per event of a connection.
  case debug

  /// How much is written at this level, more for each next one.
  var verbosity: Int {
    switch self {
    case .error: 0
    case .warning: 1
    case .info: 2
    case .debug: 3
    }
  }

  /// Whether the left one lets less through.
  public static func < (left: Self, right: Self) -> Bool { left.verbosity < right.verbosity }
}

/// The form of log lines.
public enum LogFormat: String, Sendable, CaseIterable {
  /// Time, level, message, `key=value`: for people.
  case text
  /// A JSON object per line: for collectors.
  case json
}
