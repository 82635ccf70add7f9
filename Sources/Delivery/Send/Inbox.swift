import Operations
import PushCore

/// Where answers and wake-ups wait for a lane loop; filled from any thread, emptied by the loop.
final class Inbox: Sendable {
  private struct State {
    var answers: [[PushAnswer]] = []
    var isSignaled = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Lock(State())

  /// Adds answers and wakes the loop.
  func deliver(_ answers: [PushAnswer]) {
    signal { $0.answers.append(answers) }
  }

  /// Wakes the loop.
  func wake() {
    signal { _ in }
  }

  private func signal(_ change: (inout State) -> Void) {
    let waiter = state.withLock { state in
      change(&state)
      state.isSignaled = true
      let waiter = state.waiter
      state.waiter = nil
      return waiter
    }
    waiter?.resume()
  }

  /// Takes what has come.
  func take() -> [[PushAnswer]] {
    state.withLock { state in
      let answers = state.answers
      state.answers.removeAll(keepingCapacity: true)
      state.isSignaled = false
      return answers
    }
  }

  /// Returns at the next signal, or at `deadline`. Called by one task at a time.
  func wait(until deadline: MonotonicTime, clocks: any Clocks) async {
    if state.withLock({ $0.isSignaled }) || clocks.monotonicTime() >= deadline { return }
    await withTaskGroup { group in
      group.addTask { await self.signaled() }
      group.addTask { await clocks.sleep(until: deadline) }
      await group.next()
      // Ends the sleep, or the wait for a signal, whichever is left.
      group.cancelAll()
      self.wakeWaiter()
    }
  }

  private func signaled() async {
    await withCheckedContinuation { continuation in
      let isSignaled = state.withLock { state in
        if state.isSignaled { return true }
        state.waiter = continuation
        return false
      }
      if isSignaled { continuation.resume() }
    }
  }

  private func wakeWaiter() {
    let waiter = state.withLock { state in
      let waiter = state.waiter
      state.waiter = nil
      return waiter
    }
    waiter?.resume()
  }
}
