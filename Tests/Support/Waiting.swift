import Operations

/// Runs `body` and fails when it takes longer than `limit`; `body` is canceled then and must heed it.
public func withDeadline<Result: Sendable>(
  _ limit: Duration, _ what: String, _ body: @escaping @Sendable () async throws -> Result
) async throws -> Result {
  try await withThrowingTaskGroup(of: Result?.self) { group in
    group.addTask { try await body() }
    group.addTask {
      try await Task.sleep(for: limit)
      return nil
    }
    defer { group.cancelAll() }
    guard let result = try await group.next() ?? nil else {
      throw SupportError("\(what) took longer than \(limit)")
    }
    return result
  }
}

/// Waits until `condition` holds, by asking every 5 ms: only for what gives no sign of its own, such as a file.
///
/// It is asked a hundred times at least: on a busy machine a moment of sleep can last as long as the limit.
public func eventually(
  within limit: Duration = .seconds(60), _ what: String, _ condition: () async throws -> Bool
) async throws {
  let clocks = SystemClocks()
  let deadline = clocks.monotonicTime() + limit
  var asked = 0
  while try await !condition() {
    asked += 1
    guard clocks.monotonicTime() < deadline || asked < 100 else { throw SupportError("\(what): not within \(limit)") }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// A state that many threads change and tests wait on.
///
/// Each change wakes the waiters whose condition holds then; nothing polls.
public final class Watched<State: Sendable>: Sendable {
  private struct Waiter {
    let condition: @Sendable (State) -> Bool
    let continuation: CheckedContinuation<State?, Never>
  }

  private struct Box {
    var state: State
    var waiters: [Int: Waiter] = [:]
    var nextID = 0
  }

  private let box: Lock<Box>

  /// A watched state with its first value.
  public init(_ state: State) { box = Lock(Box(state: state)) }

  /// The state now.
  public var current: State { box.withLock { $0.state } }

  /// Changes the state and wakes who waited for it.
  public func update<Result: Sendable>(_ change: @Sendable (inout State) -> Result) -> Result {
    let (result, state, woken) = box.withLock { box in
      let result = change(&box.state)
      let state = box.state
      let woken = box.waiters.filter { $0.value.condition(state) }
      for id in woken.keys { box.waiters[id] = nil }
      return (result, state, woken.map(\.value.continuation))
    }
    for continuation in woken { continuation.resume(returning: state) }
    return result
  }

  /// Returns the state as soon as `condition` holds.
  /// - Throws: ``SupportError`` when it does not within `limit`, or `CancellationError`.
  public func wait(
    within limit: Duration = .seconds(60), _ what: String, until condition: @escaping @Sendable (State) -> Bool
  ) async throws -> State {
    try await withDeadline(limit, what) {
      guard let state = await self.next(condition) else { throw CancellationError() }
      return state
    }
  }

  private func next(_ condition: @escaping @Sendable (State) -> Bool) async -> State? {
    let id = box.withLock { box in
      box.nextID += 1
      return box.nextID
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ready: State?? = box.withLock { box in
          if condition(box.state) { return .some(box.state) }
          if Task.isCancelled { return .some(nil) }
          box.waiters[id] = Waiter(condition: condition, continuation: continuation)
          return nil
        }
        if let ready { continuation.resume(returning: ready) }
      }
    } onCancel: {
      box.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(returning: nil)
    }
  }
}
