import Operations

/// Counts what is under way and tells when nothing is.
final class OpenCount: Sendable {
  private struct State {
    var count = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  /// So many more, or fewer.
  func add(_ number: Int) {
    let waiters = state.withLock { state in
      state.count += number
      guard state.count == 0 else { return [CheckedContinuation<Void, Never>]() }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns once nothing is under way.
  func waitForZero() async {
    await withCheckedContinuation { continuation in
      let isZero = state.withLock { state in
        if state.count > 0 { state.waiters.append(continuation) }
        return state.count == 0
      }
      if isZero { continuation.resume() }
    }
  }
}
