import Operations

/// Something that is set once and waited for.
final class Flag: Sendable {
  private let state = Lock(false)
  private let stream: AsyncStream<Never>
  private let continuation: AsyncStream<Never>.Continuation

  init() { (stream, continuation) = AsyncStream<Never>.makeStream() }

  /// Whether it is set.
  var isSet: Bool { state.withLock { $0 } }

  /// Sets it.
  func set() {
    state.withLock { $0 = true }
    continuation.finish()
  }

  /// Returns once it is set, or when the task is canceled. For one task.
  func wait() async { for await _ in stream {} }
}
