/// Metrics in the text format of Prometheus (exposition format 0.0.4).
public struct PrometheusText: Sendable {
  /// The media type.
  public static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  /// A value that is found out when it is asked for.
  public struct Gauge: Sendable {
    /// The name, with its unit.
    public var name: String
    /// What tells values of one name apart.
    public var label: Metric.Label
    /// The value.
    public var value: Double

    /// A gauge by its parts.
    public init(name: String, label: Metric.Label, value: Double) {
      self.name = name
      self.label = label
      self.value = value
    }
  }

  /// The text.
  public private(set) var text = ""
  private var namesSaid: Set<String> = []

  /// The text of counters, gauges and durations, and of gauges found out just now.
  public init(_ metrics: Metrics, gauges: [Gauge] = []) {
    for sample in metrics.snapshot() {
      let description = sample.metric.description
      line(description.name, description.kind.rawValue, description.label, "\(sample.value)")
    }
    for gauge in gauges { line(gauge.name, Metric.Kind.gauge.rawValue, gauge.label, "\(gauge.value)") }
    for metric in TimedMetric.allCases { append(metric.name, metrics.histogram(of: metric)) }
  }

  private mutating func line(_ name: String, _ kind: String, _ label: Metric.Label?, _ value: String) {
    say(name, kind)
    text += name + (label.map { "{\($0.name)=\"\($0.value)\"}" } ?? "") + " \(value)\n"
  }

  private mutating func append(_ name: String, _ histogram: Histogram.Snapshot) {
    say(name, "histogram")
    for (bound, count) in zip(Histogram.bounds, histogram.cumulativeCounts) {
      text += "\(name)_bucket{le=\"\(Self.seconds(bound))\"} \(count)\n"
    }
    text += "\(name)_bucket{le=\"+Inf\"} \(histogram.count)\n"
    text += "\(name)_sum \(Self.seconds(histogram.sum))\n"
    text += "\(name)_count \(histogram.count)\n"
  }

  private mutating func say(_ name: String, _ kind: String) {
    if namesSaid.insert(name).inserted { text += "# TYPE \(name) \(kind)\n" }
  }

  private static func seconds(_ duration: Duration) -> Double { Double(duration.wholeNanoseconds) / 1e9 }
}
