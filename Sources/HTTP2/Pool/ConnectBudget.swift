import Operations

/// How many connections an origin may open: a few at once, then one in each interval, whatever the reasons are. APNs takes rapid
/// connects and disconnects for an attack.
/// (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns)
struct ConnectBudget {
  /// Connects that may follow each other at once after a quiet time.
  static let burst = 8

  private var left = ConnectBudget.burst
  /// When the last one was added; meaningful while some are missing.
  private var refilled = MonotonicTime(nanoseconds: 0)

  /// Takes one connect; false when there is none now.
  mutating func take(now: MonotonicTime, interval: Duration) -> Bool {
    refill(now, interval)
    guard left > 0 else { return false }
    if left == Self.burst { refilled = now }
    left -= 1
    return true
  }

  private mutating func refill(_ now: MonotonicTime, _ interval: Duration) {
    while left < Self.burst, now.since(refilled) >= interval {
      left += 1
      refilled = refilled + interval
    }
  }
}
