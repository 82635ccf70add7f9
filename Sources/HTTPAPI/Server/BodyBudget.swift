import Operations

/// How much memory the bodies of all open requests may take together: many callers at once must not use it up.
final class BodyBudget: Sendable {
  private let left: Lock<Int>

  /// A budget of so many bytes.
  init(bytes: Int) { left = Lock(bytes) }

  /// Takes bytes; false when there are not as many left.
  func take(_ count: Int) -> Bool {
    left.withLock { left in
      guard left >= count else { return false }
      left -= count
      return true
    }
  }

  /// Gives bytes back.
  func give(_ count: Int) { left.withLock { $0 += count } }
}
