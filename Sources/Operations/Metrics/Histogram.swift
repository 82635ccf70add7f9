import Synchronization

/// What is timed: the closed list, each with the name of Prometheus and its meaning.
public enum TimedMetric: Int, Sendable, CaseIterable {
  /// From a request's head to its answer.
  case httpRequest
  /// From the store's call for an enqueue to its durable commit.
  case enqueue

  /// The name as in Prometheus, in seconds.
  public var name: String {
    switch self {
    case .httpRequest: "pushrelay_http_request_seconds"
    case .enqueue: "pushrelay_store_enqueue_seconds"
    }
  }
}

/// Counts durations in steps that double from half a millisecond on; any thread may record.
public final class Histogram: Sendable {
  /// What was recorded until one moment.
  public struct Snapshot: Sendable, Equatable {
    /// How many durations were at most as long as each of ``Histogram/bounds``.
    public var cumulativeCounts: [Int64]
    /// How many there were.
    public var count: Int64
    /// Their sum.
    public var sum: Duration
  }

  private final class Cell: Sendable {
    let value = Atomic<Int64>(0)
  }

  /// The upper bounds: 0.5 ms to 16 s.
  public static let bounds: [Duration] = (0..<16).map { .microseconds(500 * (1 << $0)) }

  /// One for each bound, and one for what is longer than all.
  private let cells = (0...bounds.count).map { _ in Cell() }
  private let nanoseconds = Cell()

  /// Nothing recorded.
  public init() {}

  /// Counts one duration.
  public func record(_ duration: Duration) {
    let index = Self.bounds.firstIndex { duration <= $0 } ?? Self.bounds.count
    cells[index].value.wrappingAdd(1, ordering: .relaxed)
    nanoseconds.value.wrappingAdd(Int64(clamping: duration.wholeNanoseconds), ordering: .relaxed)
  }

  /// What was recorded so far; each number is read by itself.
  public func snapshot() -> Snapshot {
    var sum: Int64 = 0
    var counts: [Int64] = []
    for cell in cells {
      sum += cell.value.load(ordering: .relaxed)
      counts.append(sum)
    }
    return Snapshot(
      cumulativeCounts: counts.dropLast(), count: sum,
      sum: .nanoseconds(nanoseconds.value.load(ordering: .relaxed)))
  }
}
