import Operations

/// The asynchronous side tasks of a sender; ``finish()`` awaits them all.
final class Errands: Sendable {
  private struct State {
    var next = 0
    var running: [Int: Task<Void, Never>] = [:]
    var ended: Set<Int> = []
  }

  private let state = Lock(State())

  /// Starts a task that ``finish()`` awaits.
  func start(_ body: @escaping @Sendable () async -> Void) {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    // Awaited by finish().
    let task = Task {
      await body()
      self.state.withLock { state in
        // The task may end before it is noted as running.
        if state.running.removeValue(forKey: number) == nil { state.ended.insert(number) }
      }
    }
    state.withLock { state in
      if state.ended.remove(number) == nil { state.running[number] = task }
    }
  }

  /// Returns when no task runs.
  func finish() async {
    while let task = state.withLock({ $0.running.values.first }) { await task.value }
  }
}
