/// Something that happens once and is waited for.
public final class Signal: Sendable {
  private struct State {
    var hasFired = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Lock(State())

  /// It has not happened yet.
  public init() {}

  /// It happened.
  public func fire() {
    let waiters = state.withLock { state in
      state.hasFired = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns once it has happened.
  public func wait() async {
    await withCheckedContinuation { continuation in
      let hasFired = state.withLock { state in
        if !state.hasFired { state.waiters.append(continuation) }
        return state.hasFired
      }
      if hasFired { continuation.resume() }
    }
  }
}
