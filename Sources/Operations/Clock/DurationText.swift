/// Durations as people write them in settings and options: `500ms`, `90s`, `5m`, `1h30m`, `30d`.
public enum DurationText {
  /// The longest duration taken: a hundred years.
  static let longest = Duration.seconds(36_525 * 86_400)

  private static let units: [(name: String, milliseconds: Int64)] = [
    ("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1),
  ]

  /// Reads whole numbers with their units, largest unit first, each unit once.
  /// - Throws: ``TextFormError`` naming the text and the form.
  public static func parse(_ text: String) throws(TextFormError) -> Duration {
    var rest = Array(text.utf8)[...]
    var milliseconds: Int64 = 0
    var usable = units[...]
    repeat {
      let digits = rest.prefix { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
      rest = rest.dropFirst(digits.count)
      let name = rest.prefix { $0 < UInt8(ascii: "0") || $0 > UInt8(ascii: "9") }
      rest = rest.dropFirst(name.count)
      guard let count = Int64(String(decoding: digits, as: UTF8.self)),
        let unit = usable.firstIndex(where: { $0.name.utf8.elementsEqual(name) })
      else { throw TextFormError(text, "a duration such as 500ms, 90s, 5m, 1h30m or 30d") }
      let (part, overflow) = count.multipliedReportingOverflow(by: units[unit].milliseconds)
      // The sum cannot overflow: neither part is above a hundred years.
      guard !overflow, .milliseconds(part) <= longest, .milliseconds(milliseconds + part) <= longest else {
        throw TextFormError(text, "a duration of at most a hundred years")
      }
      milliseconds += part
      usable = units[(unit + 1)...]
    } while !rest.isEmpty
    return .milliseconds(milliseconds)
  }

  /// The shortest text that ``parse(_:)`` reads as the same duration, in whole milliseconds; a negative duration is `0s`.
  public static func format(_ duration: Duration) -> String {
    var rest = max(duration.wholeMilliseconds, 0)
    var text = ""
    for unit in units where rest >= unit.milliseconds {
      text += "\(rest / unit.milliseconds)\(unit.name)"
      rest %= unit.milliseconds
    }
    return text.isEmpty ? "0s" : text
  }
}

/// A text that is not of the form it should have.
public struct TextFormError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The sentence for people; a long text is shortened in it.
  public let description: String

  init(_ text: String, _ form: String) { description = "\(shown(text)) is not \(form)" }
}
