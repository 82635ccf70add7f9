import Operations

/// The id of one enqueued notification: milliseconds since 2020-01-01 shifted left by 12, and a sequence number below
/// 4096, so that a range of ids is a range of time. Below 2^53, exact in JSON; decimal text outside.
public struct NotificationID: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The number.
  public let rawValue: Int64

  /// An id by its number.
  public init(_ rawValue: Int64) { self.rawValue = rawValue }

  /// The least id that a notification stored at `time` can have; times before 2020 count as 2020.
  public static func first(at time: UnixMilliseconds) -> NotificationID {
    NotificationID(max(time.value - epoch, 1) << 12)
  }

  /// The next id: of the same millisecond, or the first of the next one.
  public var successor: NotificationID { NotificationID(rawValue + 1) }

  /// 2020-01-01 00:00:00 UTC.
  private static let epoch: Int64 = 1_577_836_800_000

  /// Reads the decimal text of an id; nil when it is none.
  public init?(text: some StringProtocol) {
    guard let value = Int64(text), value > 0, value < 1 << 53, String(value) == text else { return nil }
    rawValue = value
  }

  /// Orders by value.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }

  /// The decimal text, as every surface shows it.
  public var description: String { String(rawValue) }
}

/// The id of an app: one topic with its suffix.
public struct AppID: Sendable, Hashable {
  /// The number.
  public let rawValue: Int64

  /// An id by its number.
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of a credential: what signs for one (topic, environment).
public struct CredentialID: Sendable, Hashable {
  /// The number.
  public let rawValue: Int64

  /// An id by its number.
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// The id of an interest of one app.
public struct InterestID: Sendable, Hashable, Comparable {
  /// The number.
  public let rawValue: Int64

  /// An id by its number.
  public init(_ rawValue: Int64) { self.rawValue = rawValue }

  /// Orders by value.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The id of a task: one leased unit of work of a notification.
public struct TaskID: Sendable, Hashable, Comparable {
  /// The number.
  public let rawValue: Int64

  /// An id by its number.
  public init(_ rawValue: Int64) { self.rawValue = rawValue }

  /// Orders by value.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
