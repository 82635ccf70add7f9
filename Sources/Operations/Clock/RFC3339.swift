/// Times as texts: RFC 3339, written in UTC with milliseconds, such as `2026-11-30T05:31:11.250Z`.
///
/// The calendar is the proleptic Gregorian one; its arithmetic is Howard Hinnant's `days_from_civil` and `civil_from_days`
/// (https://howardhinnant.github.io/date_algorithms.html).
public enum RFC3339 {
  private static let earliest: Int64 = -62_167_219_200_000  // 0000-01-01T00:00:00.000Z
  private static let latest: Int64 = 253_402_300_799_999  // 9999-12-31T23:59:59.999Z

  /// Writes a time; years outside 0000…9999, which the form cannot hold, become the nearest that it can.
  public static func format(_ time: UnixMilliseconds) -> String {
    let value = min(max(time.value, earliest), latest)
    let day = floorDivide(value, 86_400_000)
    let ofDay = value - day * 86_400_000
    let (year, month, dayOfMonth) = civil(fromDays: day)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(24)
    func append(_ number: Int64, digits: Int, then separator: Character) {
      var divisor: Int64 = 1
      for _ in 1..<digits { divisor *= 10 }
      while divisor > 0 {
        bytes.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
        divisor /= 10
      }
      bytes.append(separator.asciiValue ?? 0)
    }
    append(year, digits: 4, then: "-")
    append(month, digits: 2, then: "-")
    append(dayOfMonth, digits: 2, then: "T")
    append(ofDay / 3_600_000, digits: 2, then: ":")
    append(ofDay / 60_000 % 60, digits: 2, then: ":")
    append(ofDay / 1000 % 60, digits: 2, then: ".")
    append(ofDay % 1000, digits: 3, then: "Z")
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Reads a time with any offset and any number of fraction digits; what is finer than a millisecond is dropped. In UTC its year
  /// must have four digits too.
  /// - Throws: ``TextFormError`` naming the text and the form.
  public static func parse(_ text: String) throws(TextFormError) -> UnixMilliseconds {
    var reader = Reader(bytes: Array(text.utf8))
    guard let time = reader.time(), (earliest...latest).contains(time.value) else {
      throw TextFormError(text, "a time such as 2026-11-30T05:31:11Z (RFC 3339)")
    }
    return time
  }

  /// Days since 1970-01-01.
  static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = floorDivide(shifted, 400)
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  /// The date of a day counted from 1970-01-01.
  static func civil(fromDays days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = floorDivide(shifted, 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    let month = shiftedMonth + (shiftedMonth < 10 ? 3 : -9)
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
  }

  private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
    value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
  }

  /// Reads the grammar of RFC 3339 §5.6 from the front.
  private struct Reader {
    let bytes: [UInt8]
    var index = 0

    init(bytes: [UInt8]) { self.bytes = bytes }

    mutating func time() -> UnixMilliseconds? {
      guard let year = number(4), take("-"), let month = number(2), take("-"), let day = number(2), take("T", "t"),
        let hour = number(2), take(":"), let minute = number(2), take(":"), let second = number(2),
        let milliseconds = fraction(), let offset = offset(), index == bytes.count
      else { return nil }
      guard (1...12).contains(month), day >= 1, hour < 24, minute < 60, second <= 60 else { return nil }
      let days = RFC3339.days(year: year, month: month, day: day)
      // A day that the month does not have comes back as another date.
      guard RFC3339.civil(fromDays: days) == (year, month, day) else { return nil }
      let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset * 60
      // A leap second ends a UTC day; POSIX time gives it the number of the second after it.
      if second == 60, seconds % 86_400 != 0 { return nil }
      return UnixMilliseconds(seconds * 1000 + milliseconds)
    }

    private mutating func number(_ digits: Int) -> Int64? {
      var value: Int64 = 0
      for _ in 0..<digits {
        guard let digit = digit() else { return nil }
        value = value * 10 + digit
      }
      return value
    }

    private mutating func digit() -> Int64? {
      guard index < bytes.count, bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") else {
        return nil
      }
      defer { index += 1 }
      return Int64(bytes[index] - UInt8(ascii: "0"))
    }

    private mutating func take(_ choices: Character...) -> Bool {
      guard index < bytes.count, choices.contains(where: { $0.asciiValue == bytes[index] }) else { return false }
      index += 1
      return true
    }

    private mutating func fraction() -> Int64? {
      guard take(".") else { return 0 }
      guard let first = digit() else { return nil }
      var milliseconds = first * 100
      var weight: Int64 = 10
      while let digit = digit() {
        milliseconds += digit * weight
        weight /= 10
      }
      return milliseconds
    }

    /// Minutes that local time is ahead of UTC.
    private mutating func offset() -> Int64? {
      if take("Z", "z") { return 0 }
      let sign: Int64
      if take("+") {
        sign = 1
      } else if take("-") {
        sign = -1
      } else {
        return nil
      }
      guard let hours = number(2), take(":"), let minutes = number(2), hours < 24, minutes < 60 else { return nil }
      return sign * (hours * 60 + minutes)
    }
  }
}
