import CLinux

/// The machine's own clocks.
public struct SystemClocks: Clocks {
  /// The machine's own clocks.
  public init() {}

  /// CLOCK_REALTIME.
  public func wallTime() -> UnixMilliseconds {
    let now = read(CLOCK_REALTIME)
    return UnixMilliseconds(Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000)
  }

  /// CLOCK_MONOTONIC.
  public func monotonicTime() -> MonotonicTime {
    let now = read(CLOCK_MONOTONIC)
    return MonotonicTime(nanoseconds: UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec))
  }

  /// Sleeps on the CLOCK_MONOTONIC deadline.
  public func sleep(until deadline: MonotonicTime) async {
    let wait = deadline.since(monotonicTime())
    // Only cancellation ends the sleep early, and the caller sees that in its task.
    try? await Task.sleep(for: wait)
  }

  private func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return time
  }
}
