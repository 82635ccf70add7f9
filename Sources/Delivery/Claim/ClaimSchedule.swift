import Operations
import PushCore

/// Decides when a lane is asked for work, and for how much. A value: time comes in.
struct ClaimSchedule: Sendable {
  /// One question to the store.
  struct Ask: Equatable {
    var lane: Lane
    /// Nil = all that is due; else what became due lately, which stays fast under a long backlog of dead rows.
    var window: Duration?
    var limit: Int
  }

  private struct LaneState {
    var isAwake = true
    var pollAt = MonotonicTime(nanoseconds: 0)
    var unboundedAt = MonotonicTime(nanoseconds: 0)
    var staysUnbounded = false
  }

  private static let window = Duration.seconds(60)
  private static let unboundedInterval = Duration.seconds(5)
  private let pollInterval: Duration
  private var lanes: [Lane: LaneState]

  init(lanes: [Lane], pollInterval: Duration) {
    self.pollInterval = pollInterval
    self.lanes = Dictionary(uniqueKeysWithValues: lanes.map { ($0, LaneState()) })
  }

  /// The most tasks of a lane that are open at once: many small ones, but few of the long walks of lane 2. Those that only wait for a
  /// connection are not counted.
  static func openLimit(_ lane: Lane) -> Int {
    switch lane {
    case .urgent: 512
    case .normal: 256
    case .bulk: 4
    }
  }

  /// New work may have come to a lane.
  mutating func wake(_ lane: Lane) { lanes[lane]?.isAwake = true }

  /// What to ask for now, when `open` tasks of the lane are open.
  func ask(_ lane: Lane, open: Int, at now: MonotonicTime) -> Ask? {
    guard let state = lanes[lane], state.isAwake || now >= state.pollAt else { return nil }
    let limit = Self.openLimit(lane) - open
    guard limit > 0 else { return nil }
    let isUnbounded = state.staysUnbounded || now >= state.unboundedAt
    return Ask(lane: lane, window: isUnbounded ? nil : Self.window, limit: limit)
  }

  /// Notes the answer: a full one is asked for again at once.
  mutating func asked(_ ask: Ask, got count: Int, at now: MonotonicTime) {
    let isFull = count >= ask.limit
    lanes[ask.lane]?.isAwake = isFull
    lanes[ask.lane]?.pollAt = now + pollInterval
    if ask.window == nil {
      lanes[ask.lane]?.staysUnbounded = isFull
      lanes[ask.lane]?.unboundedAt = now + Self.unboundedInterval
    }
  }

  /// When the lane is asked next without a wake-up, when `open` tasks of it are open.
  func nextAsk(_ lane: Lane, open: Int) -> MonotonicTime {
    open < Self.openLimit(lane) ? lanes[lane]?.pollAt ?? .distantFuture : .distantFuture
  }
}
