import Operations

/// Clocks that move only when a test moves them.
final class DrivenClocks: Clocks {
  private struct State {
    var wall: UnixMilliseconds
    var monotonic = MonotonicTime(nanoseconds: 1_000_000_000)
    var sleepers: [(deadline: MonotonicTime, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state: Lock<State>

  init(wallSeconds: Int64 = 1_767_225_600) {
    state = Lock(State(wall: UnixMilliseconds(wallSeconds * 1000)))
  }

  func wallTime() -> UnixMilliseconds { state.withLock { $0.wall } }
  func monotonicTime() -> MonotonicTime { state.withLock { $0.monotonic } }

  func sleep(until deadline: MonotonicTime) async {
    await withCheckedContinuation { continuation in
      let isDue = state.withLock { state in
        if deadline <= state.monotonic { return true }
        state.sleepers.append((deadline, continuation))
        return false
      }
      if isDue { continuation.resume() }
    }
  }

  /// Lets time pass on both clocks.
  func advance(_ duration: Duration) {
    let due = state.withLock { state in
      state.wall = UnixMilliseconds(state.wall.value + duration.wholeMilliseconds)
      state.monotonic = state.monotonic + duration
      let now = state.monotonic
      let due = state.sleepers.filter { $0.deadline <= now }.map(\.continuation)
      state.sleepers.removeAll { $0.deadline <= now }
      return due
    }
    for continuation in due { continuation.resume() }
  }

  /// Sets the wall clock alone, as an administrator or NTP does.
  func stepWall(seconds: Int64) {
    state.withLock { $0.wall = UnixMilliseconds($0.wall.value + seconds * 1000) }
  }
}
