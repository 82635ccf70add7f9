import Operations

/// One request between the daemon's thread, which reads it and writes its answer, and the task that answers it.
final class Exchange: Sendable {
  /// The largest body taken.
  static let bodyLimitBytes = 1 << 20
  /// How much of a too large body without a length is read and dropped, so that its sender hears why; then the connection is cut.
  private static let dropLimitBytes = 16 << 20
  /// What a piece of a body counts for at least towards that: chunks of a byte each cost more than their bytes.
  private static let pieceBytes = 64
  /// For the bodies of all open requests of the process.
  static let budget = BodyBudget(bytes: 64 << 20)

  /// A request that is here as a whole, or why it is not.
  struct Arrived: Sendable {
    /// What it says before its body.
    let head: RequestHead
    /// The body, as far as it was kept.
    let body: [UInt8]
    /// Whether there was more of it than is taken.
    let isTooLarge: Bool
    /// Whether there was no memory left for it.
    let isOverBudget: Bool
    /// When its head was here.
    let began: MonotonicTime
  }

  private struct State {
    var head: RequestHead?
    var began = MonotonicTime(nanoseconds: 0)
    var body: [UInt8] = []
    var byteCount = 0
    /// The bytes, with small pieces as more than they have.
    var cost = 0
    var budgeted = 0
    var isOverBudget = false
    var answer: Answer?
    var resume: (@Sendable () -> Void)?
  }

  /// The target as sent.
  let target: String
  private let state = Lock(State())

  init(target: String) { self.target = target }

  deinit { Self.budget.give(state.withLock { $0.budgeted }) }

  /// Whether the head is here.
  var hasHead: Bool { state.withLock { $0.head != nil } }

  /// The head is here; gives the answer when the body must not be read.
  func begin(_ head: RequestHead, now: MonotonicTime, _ handler: any RequestHandler) -> Answer? {
    state.withLock { state in
      state.head = head
      state.began = now
    }
    return handler.refusal(of: head)
  }

  /// A piece of the body is here; false when the connection is to be cut.
  func receive(_ piece: UnsafeRawBufferPointer) -> Bool {
    let bytes = unsafe Array(piece)
    return state.withLock { state in
      state.byteCount += bytes.count
      state.cost += max(bytes.count, Self.pieceBytes)
      guard state.cost <= Self.dropLimitBytes else { return false }
      guard state.byteCount <= Self.bodyLimitBytes, !state.isOverBudget else {
        state.body = []
        return true
      }
      if Self.budget.take(bytes.count) {
        state.budgeted += bytes.count
        state.body += bytes
      } else {
        state.isOverBudget = true
      }
      return true
    }
  }

  /// The request, once all of it is here.
  func arrived() -> Arrived {
    state.withLock { state in
      Arrived(
        head: state.head ?? RequestHead(method: "", rawTarget: target, fields: [], peer: nil), body: state.body,
        isTooLarge: state.byteCount > Self.bodyLimitBytes, isOverBudget: state.isOverBudget, began: state.began)
    }
  }

  /// The answer is there: a connection that rests goes on.
  func finish(_ answer: Answer) {
    let resume = state.withLock { state in
      state.answer = answer
      return state.resume.take()
    }
    resume?()
  }

  /// The answer, once it is there.
  func takeAnswer() -> Answer? { state.withLock { $0.answer.take() } }

  /// The answer if it is there; else the connection rests until it is.
  ///
  /// - Parameter rest: suspends the connection and gives what resumes it.
  func takeAnswer(orRest rest: () -> @Sendable () -> Void) -> Answer? {
    state.withLock { state in
      if let answer = state.answer.take() { return answer }
      state.resume = rest()
      return nil
    }
  }
}
