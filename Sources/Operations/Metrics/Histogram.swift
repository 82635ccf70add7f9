import Synchronization

/// What is timed: the closed list, each with the name of Prometheus and its meaning.
public enum TimedMetric: Int, Sendable, CaseIterable {
  /// From a request's head to its answer.
  case httpRequest
  /// From the store's call for an enqueue to its durable commit.
  case enqueue
  /// A claim of work from the store.
  case claim
  /// A transaction of the store that writes results.
  case flush
  /// From a push's first byte to APNs' answer.
  case push

  /// The name as in Prometheus, in seconds.
  public var name: String {
    switch self {
    case .httpRequest: "pushrelay_http_request_seconds"
    case .enqueue: "pushrelay_store_enqueue_seconds"
    case .claim: "pushrelay_store_claim_seconds"
    case .flush: "pushrelay_store_flush_seconds"
    case .push: "pushrelay_apns_answer_seconds"
    }
  }

  /// What is timed, in one sentence.
  public var help: String {
    switch self {
    case .httpRequest: "From the head of an HTTP request to its answer."
    case .enqueue: "From the call that stores a notification to its durable commit."
    case .claim: "Claims of work from the store."
    case .flush: "Transactions of the store that write results."
    case .push: "From the first byte of a push to the answer of APNs, in whole milliseconds."
    }
  }
}

/// Durations counted by one owner, to be added to a ``Histogram`` at once.
public struct DurationCounts: Sendable, Equatable {
  fileprivate(set) var counts = [Int64](repeating: 0, count: Histogram.bounds.count + 1)
  fileprivate(set) var nanoseconds: Int64 = 0

  /// Nothing counted.
  public init() {}

  /// Counts one duration.
  public mutating func add(_ duration: Duration) {
    counts[Histogram.index(of: duration)] += 1
    nanoseconds &+= Int64(clamping: duration.wholeNanoseconds)
  }

  /// Whether nothing is counted.
  public var isEmpty: Bool { counts.allSatisfy { $0 == 0 } }
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
    cells[Self.index(of: duration)].value.wrappingAdd(1, ordering: .relaxed)
    nanoseconds.value.wrappingAdd(Int64(clamping: duration.wholeNanoseconds), ordering: .relaxed)
  }

  /// Counts many.
  public func record(_ durations: DurationCounts) {
    for (cell, count) in zip(cells, durations.counts) where count > 0 {
      cell.value.wrappingAdd(count, ordering: .relaxed)
    }
    nanoseconds.value.wrappingAdd(durations.nanoseconds, ordering: .relaxed)
  }

  fileprivate static func index(of duration: Duration) -> Int {
    bounds.firstIndex { duration <= $0 } ?? bounds.count
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
