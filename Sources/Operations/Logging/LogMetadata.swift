/// A value beside a log message.
public enum LogValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation,
  ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
  /// A text.
  case string(String)
  /// A whole number.
  case integer(Int64)
  /// A truth value.
  case bool(Bool)

  /// A text.
  public init(stringLiteral value: String) { self = .string(value) }
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A truth value.
  public init(booleanLiteral value: Bool) { self = .bool(value) }

  /// Any whole number; what 64 bits cannot hold becomes the nearest that they can.
  public static func count(_ value: some BinaryInteger) -> LogValue { .integer(Int64(clamping: value)) }

  /// A duration, as in settings.
  public static func duration(_ value: Duration) -> LogValue { .string(DurationText.format(value)) }

  /// Anything by its description, which must be safe to show anyone.
  public static func describing(_ value: some CustomStringConvertible) -> LogValue { .string(value.description) }
}

/// Data beside a log message, in order: dotted keys from our code, values from anywhere.
public struct LogMetadata: Sendable, ExpressibleByDictionaryLiteral {
  var fields: [(key: StaticString, value: LogValue)]

  /// Keys with their values.
  public init(dictionaryLiteral fields: (StaticString, LogValue)...) {
    self.fields = fields.map { (key: $0.0, value: $0.1) }
  }
}
