import Operations

/// Lets a few through at a time, in the order of their coming.
public final class Turnstile: Sendable {
  private struct State {
    var free: Int
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let state: Lock<State>

  /// A turnstile for `width` at a time.
  public init(width: Int) { state = Lock(State(free: width)) }

  /// Runs `body` when it is its turn.
  public func pass<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        if state.free == 0 {
          state.waiters.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume() }
    }
    defer { leave() }
    return try await body()
  }

  private func leave() {
    let next: CheckedContinuation<Void, Never>? = state.withLock { state in
      if state.waiters.isEmpty {
        state.free += 1
        return nil
      }
      return state.waiters.removeFirst()
    }
    next?.resume()
  }
}
