import Operations

/// The limits of one notification, and the checks of values that have no other home.
public enum NotificationLimits {
  /// Interests a notification may name.
  public static let interests = 100
  /// Users a notification may name.
  public static let users = 1000
  /// Device tokens a notification may name.
  public static let tokens = 1000
  /// Recipients with values of their own that a notification may have.
  public static let recipients = 1000
  /// Bytes of `apns-collapse-id`, in UTF-8 (Apple).
  public static let collapseIDBytes = 64
  /// Bytes of a user id.
  public static let userIDBytes = 255
  /// How far ahead a notification may be scheduled.
  public static let scheduleAhead: Duration = .seconds(30 * 86_400)
  /// How far ahead a deadline may be; beyond, the unit is wrong.
  public static let deadlineAhead: Duration = .seconds(3650 * 86_400)
  /// UNIX times below this are in the past century: a number of seconds from now was meant.
  static let leastTime: Int64 = 1_000_000_000

  /// What is wrong with a collapse id; nil when nothing is.
  public static func fault(inCollapseID text: String) -> String? {
    guard !text.isEmpty else { return "the collapse id is empty; leave it away" }
    guard !text.unicodeScalars.contains(where: isControl) else {
      return "the collapse id has a control character, which no header value may have"
    }
    guard text.utf8.first != 0x20, text.utf8.last != 0x20 else {
      return "the collapse id begins or ends with a space, which no header value may"
    }
    let count = text.utf8.count
    return count <= collapseIDBytes
      ? nil : "the collapse id has \(count) bytes, limit \(collapseIDBytes)"
  }

  /// What is wrong with a user id; nil when nothing is.
  public static func fault(inUserID text: String) -> String? {
    guard !text.isEmpty else { return "a user id must not be empty" }
    guard !text.unicodeScalars.contains(where: isControl) else {
      return "the user id has a control character"
    }
    let count = text.utf8.count
    return count <= userIDBytes ? nil : "the user id has \(count) bytes, limit \(userIDBytes)"
  }

  /// What is wrong with `apns-expiration` as UNIX seconds; nil when nothing is. 0 is one attempt, a past time expires
  /// at once.
  static func fault(inExpiration seconds: Int64, now: UnixMilliseconds) -> String? {
    guard seconds >= 0 else {
      return "the expiration is negative; give UNIX seconds, or 0 for one attempt"
    }
    guard seconds == 0 || seconds >= leastTime else {
      return
        "\(seconds) is a time in 1970-2001; is it relative? Use expires_in (--expires-in \(seconds)s)"
    }
    let latest = now.seconds + deadlineAhead.wholeMilliseconds / 1000
    guard seconds <= latest else {
      return "\(seconds) is more than 10 years ahead; is it in milliseconds? Give UNIX seconds"
    }
    return nil
  }

  /// What is wrong with an `apns-id`; nil when nothing is: 8-4-4-4-12 hexadecimal digits.
  public static func fault(inAPNsID text: String) -> String? {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false)
    let isUUID =
      groups.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && text.utf8.allSatisfy { $0 == UInt8(ascii: "-") || isHexDigit($0) }
    return isUUID
      ? nil : "the apns-id is no UUID; write it like 123e4567-e89b-12d3-a456-4266554400a0"
  }

  static func isControl(_ scalar: UnicodeScalar) -> Bool {
    scalar.properties.generalCategory == .control
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
      UInt8(ascii: "A")...UInt8(ascii: "F"):
      true
    default: false
    }
  }
}
