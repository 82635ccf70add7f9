/// Milliseconds since 1970-01-01 UTC, the unit of every stored time.
public struct UnixMilliseconds: Sendable, Hashable, Comparable {
  /// The count.
  public var value: Int64

  /// A time by its count of milliseconds.
  public init(_ value: Int64) { self.value = value }

  /// Whole seconds, rounded down.
  public var seconds: Int64 { value >= 0 ? value / 1000 : (value - 999) / 1000 }

  /// Orders by value.
  public static func < (left: Self, right: Self) -> Bool { left.value < right.value }
}

/// A point of CLOCK_MONOTONIC in nanoseconds: for ages, deadlines and leases inside one process; means nothing elsewhere.
public struct MonotonicTime: Sendable, Hashable, Comparable {
  /// Nanoseconds of CLOCK_MONOTONIC.
  public var nanoseconds: UInt64

  /// A point by its count of nanoseconds.
  public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

  /// A point that never comes.
  public static let distantFuture = MonotonicTime(nanoseconds: .max)

  /// Orders by value.
  public static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

  /// The point `duration` later, at most ``distantFuture``.
  public static func + (left: Self, duration: Duration) -> Self {
    let (sum, overflow) = left.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
    return overflow ? .distantFuture : Self(nanoseconds: sum)
  }

  /// The time from `earlier` to this point; zero when this point is the earlier one.
  public func since(_ earlier: MonotonicTime) -> Duration {
    .nanoseconds(Int64(clamping: nanoseconds > earlier.nanoseconds ? nanoseconds - earlier.nanoseconds : 0))
  }
}

extension Duration {
  /// Whole nanoseconds; a negative duration is 0.
  public var wholeNanoseconds: UInt64 {
    let (seconds, attoseconds) = components
    return seconds < 0 || attoseconds < 0 ? 0 : UInt64(seconds) &* 1_000_000_000 &+ UInt64(attoseconds / 1_000_000_000)
  }

  /// Whole milliseconds, rounded down.
  public var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1000 + attoseconds / 1_000_000_000_000_000
  }
}

/// Where time comes from. Everything that looks at a clock or waits is given one of these, so that tests can drive it.
public protocol Clocks: Sendable {
  /// The wall clock; steps when an administrator or NTP steps it.
  func wallTime() -> UnixMilliseconds
  /// The monotonic clock.
  func monotonicTime() -> MonotonicTime
  /// Returns at `deadline`, or earlier when the calling task is cancelled.
  func sleep(until deadline: MonotonicTime) async
}
