import Synchronization

/// The process's counters and gauges: one atomic each, so that counting costs a few nanoseconds on any thread.
public final class Metrics: Sendable {
  /// Atomics cannot lie in an array; each has an object of its own, which also keeps them off each other's cache lines.
  private final class Cell: Sendable {
    let value = Atomic<Int64>(0)
  }

  /// A metric with its value at one moment.
  public struct Sample: Sendable, Equatable {
    /// Which one.
    public let metric: Metric
    /// Its value.
    public let value: Int64
  }

  private let cells: [Cell]
  private let histograms: [Histogram]
  private let words = Lock([WordCounts](repeating: WordCounts(), count: WordedMetric.allCases.count))

  /// All at zero.
  public init() {
    cells = Metric.allCases.map { _ in Cell() }
    histograms = TimedMetric.allCases.map { _ in Histogram() }
  }

  /// Counts how long something took.
  public func record(_ duration: Duration, of metric: TimedMetric) { histograms[metric.rawValue].record(duration) }

  /// Counts how long many things of one kind took.
  public func record(_ durations: DurationCounts, of metric: TimedMetric) {
    histograms[metric.rawValue].record(durations)
  }

  /// Adds to what is counted by a word.
  public func add(_ amount: Int64, to metric: WordedMetric, _ word: String) {
    words.withLock { $0[metric.rawValue].add(amount, word) }
  }

  /// What was counted by words, in their order.
  public func counts(of metric: WordedMetric) -> [(word: String, count: Int64)] {
    words.withLock { $0[metric.rawValue].counts }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// How long something took, so far.
  public func histogram(of metric: TimedMetric) -> Histogram.Snapshot { histograms[metric.rawValue].snapshot() }

  /// Adds to a counter, or moves a gauge up or down.
  public func add(_ amount: Int64 = 1, to metric: Metric) {
    cells[metric.rawValue].value.wrappingAdd(amount, ordering: .relaxed)
  }

  /// Sets a gauge.
  public func set(_ metric: Metric, to value: Int64) {
    cells[metric.rawValue].value.store(value, ordering: .relaxed)
  }

  /// The value of one metric now.
  public func value(of metric: Metric) -> Int64 { cells[metric.rawValue].value.load(ordering: .relaxed) }

  /// All values in the order of the list; each is read by itself, so sums may be off by what happens meanwhile.
  public func snapshot() -> [Sample] { Metric.allCases.map { Sample(metric: $0, value: value(of: $0)) } }
}
