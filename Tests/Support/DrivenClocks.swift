import Operations

/// Clocks that stand still until a test moves them; sleepers wake in the order of their deadlines.
public final class DrivenClocks: Clocks {
  private struct Sleeper {
    let deadline: MonotonicTime
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State: Sendable {
    var wall: UnixMilliseconds
    var monotonic: MonotonicTime
    var sleepers: [Int: Sleeper] = [:]
    var nextID = 0

    mutating func wakeable() -> [Sleeper] {
      let due = sleepers.filter { $0.value.deadline <= monotonic }
      for id in due.keys { sleepers[id] = nil }
      return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }.map(\.value)
    }
  }

  private let state: Watched<State>

  /// Clocks at a time of day; the monotonic one starts at an hour.
  public init(wall: UnixMilliseconds = UnixMilliseconds(1_800_000_000_000)) {
    state = Watched(State(wall: wall, monotonic: MonotonicTime(nanoseconds: 3_600_000_000_000)))
  }

  /// The wall clock.
  public func wallTime() -> UnixMilliseconds { state.current.wall }

  /// The monotonic clock.
  public func monotonicTime() -> MonotonicTime { state.current.monotonic }

  /// Returns when a test has moved the clocks to `deadline`, or when the calling task is canceled.
  public func sleep(until deadline: MonotonicTime) async {
    let id = state.update { state in
      state.nextID += 1
      return state.nextID
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let returnsNow = state.update { state in
          if deadline <= state.monotonic || Task.isCancelled { return true }
          state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
          return false
        }
        if returnsNow { continuation.resume() }
      }
    } onCancel: {
      state.update { $0.sleepers.removeValue(forKey: id) }?.continuation.resume()
    }
  }

  /// Moves both clocks on and wakes who is due.
  public func advance(by duration: Duration) {
    let due = state.update { state in
      state.monotonic = state.monotonic + duration
      state.wall.value += duration.wholeMilliseconds
      return state.wakeable()
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Moves both clocks to the deadline of the sleeper that is due first, and wakes it; nothing when nobody sleeps.
  public func advanceToNextDeadline() {
    let current = state.current
    guard let next = current.sleepers.values.map(\.deadline).min() else { return }
    advance(by: next.since(current.monotonic))
  }

  /// Steps the wall clock alone, as an administrator or NTP does; may be negative.
  public func stepWall(by duration: Duration) {
    state.update { $0.wall.value += duration.wholeMilliseconds }
  }

  /// How many tasks sleep now.
  public var sleeperCount: Int { state.current.sleepers.count }

  /// Returns when at least `count` tasks sleep, so that moving the clocks reaches them.
  public func waitForSleepers(_ count: Int = 1, within limit: Duration = .seconds(10)) async throws {
    _ = try await state.wait(within: limit, "waiting for \(count) sleepers") { $0.sleepers.count >= count }
  }
}
