import Operations

/// Holds a connection back whose peer refuses streams (REFUSED_STREAM) that its announced limit allows.
///
/// A refused request is offered again a few times only; were it given back to the same connection at once, these tries would be
/// used up within a few round trips. So a refusal stops new streams at those that are open: an answer lets the next one go, and
/// about every eighth answer one more. SETTINGS say anew what the peer takes; and when nothing happens, one more stream is tried
/// after a delay that doubles.
struct RefusalBrake {
  /// The longest delay, as a multiple of the first.
  private static let longestDelay = 8
  /// The answers after which one more stream is tried, or fewer when fewer are open: few requests are refused twice.
  private static let answersPerStream = 8

  private var cap: Int?
  private var row = 0
  private var credit = 0
  /// When one more stream may be tried.
  private(set) var notBefore: MonotonicTime?

  /// The peer refused streams; `open` are left.
  mutating func refused(open: Int, now: MonotonicTime, delay: Duration) {
    cap = min(cap ?? open, open)
    credit = 0
    notBefore = now + delay * min(1 << min(row, 16), Self.longestDelay)
    row += 1
  }

  /// Streams were answered.
  mutating func answered(_ count: Int, limit: Int) {
    guard var cap, count > 0 else { return }
    row = 0
    notBefore = nil
    credit += count
    while cap < limit {
      let step = max(1, min(cap, Self.answersPerStream))
      guard credit >= step else { break }
      credit -= step
      cap += 1
    }
    self.cap = cap < limit ? cap : nil
  }

  /// The peer said anew how many streams it takes.
  mutating func limitAnnounced() { self = RefusalBrake() }

  /// How many streams may be open.
  mutating func limit(_ announced: Int, open: Int, now: MonotonicTime) -> Int {
    if let notBefore, notBefore <= now {
      self.notBefore = nil
      cap = cap.map { max($0, open + 1) }
    }
    return min(announced, cap ?? announced)
  }
}
