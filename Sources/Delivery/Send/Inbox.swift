import Operations
import PushCore

/// Where answers, wake-ups and the order to stop wait for a lane loop; filled from any thread, emptied by the loop.
final class Inbox: Sendable {
  /// What has come since the last look.
  struct News {
    var answers: [[PushAnswer]] = []
    /// Lanes to which work may have come.
    var lanes: Set<Lane> = []
    /// Set from the order to stop on: open streams are waited for until then.
    var stopAt: MonotonicTime?
  }

  private struct State {
    var news = News()
    var isSignaled = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Lock(State())

  /// Adds answers and wakes the loop.
  func deliver(_ answers: [PushAnswer]) {
    signal { $0.answers.append(answers) }
  }

  /// Wakes the loop to look for work of a lane.
  func wake(_ lane: Lane) {
    signal { $0.lanes.insert(lane) }
  }

  /// Orders the loop to stop; the earliest deadline holds.
  func stop(at deadline: MonotonicTime) {
    signal { $0.stopAt = min($0.stopAt ?? deadline, deadline) }
  }

  /// Wakes the loop.
  func wake() {
    signal { _ in }
  }

  private func signal(_ change: (inout News) -> Void) {
    let waiter = state.withLock { state in
      change(&state.news)
      state.isSignaled = true
      let waiter = state.waiter
      state.waiter = nil
      return waiter
    }
    waiter?.resume()
  }

  /// Takes what has come.
  func take() -> News {
    state.withLock { state in
      let news = state.news
      state.news = News(stopAt: news.stopAt)
      state.isSignaled = false
      return news
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
        // Canceled: the sleep has ended, and nobody would wake a waiter that registers from now on.
        if state.isSignaled || Task.isCancelled { return true }
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
