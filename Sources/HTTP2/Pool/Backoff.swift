import Operations

/// How long an origin is left alone after failed connects: from the minimum, doubled with each failure, up to the maximum,
/// each time shortened by up to a quarter at random so that many clients do not return together.
struct Backoff {
  let minimum: Duration
  let maximum: Duration
  private(set) var failures = 0
  private(set) var notBefore: MonotonicTime?

  init(minimum: Duration, maximum: Duration) {
    self.minimum = minimum
    self.maximum = maximum
  }

  func allows(_ now: MonotonicTime) -> Bool { notBefore.map { $0 <= now } ?? true }

  /// Counts a failure. `random` is in 0 ..< 1.
  mutating func failed(_ now: MonotonicTime, random: Double) {
    let doubled = minimum * (1 << min(failures, 16))
    let wait = max(minimum, min(doubled, maximum) * (1 - random / 4))
    failures += 1
    notBefore = now + wait
  }

  mutating func succeeded() {
    failures = 0
    notBefore = nil
  }
}
