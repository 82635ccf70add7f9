/// Metrics in the text format of Prometheus (exposition format 0.0.4).
public struct PrometheusText: Sendable {
  /// The media type.
  public static let mediaType = "text/plain; version=0.0.4; charset=utf-8"

  /// A value that is found out when it is asked for.
  public struct Gauge: Sendable {
    /// The name, with its unit.
    public var name: String
    /// What it is, in one sentence.
    public var help: String
    /// What tells values of one name apart.
    public var label: Metric.Label?
    /// The value.
    public var value: Double

    /// A gauge by its parts.
    public init(_ name: String, _ help: String, label: Metric.Label? = nil, value: Double) {
      self.name = name
      self.help = help
      self.label = label
      self.value = value
    }
  }

  /// The text.
  public private(set) var text = ""
  private var namesSaid: Set<String> = []

  /// The text of counters, gauges and durations, and of gauges found out just now. Values of one name come together.
  public init(_ metrics: Metrics, gauges: [Gauge] = []) {
    for sample in metrics.snapshot() {
      let description = sample.metric.description
      say(description.name, description.kind.rawValue, description.help)
      line(description.name, description.label, "\(sample.value)")
    }
    for metric in WordedMetric.allCases {
      say(metric.name, Metric.Kind.counter.rawValue, metric.help)
      for (word, count) in metrics.counts(of: metric) {
        line(metric.name, Metric.Label(name: metric.label, value: word), "\(count)")
      }
    }
    for gauge in gauges {
      say(gauge.name, Metric.Kind.gauge.rawValue, gauge.help)
      line(gauge.name, gauge.label, "\(gauge.value)")
    }
    for metric in TimedMetric.allCases { append(metric, metrics.histogram(of: metric)) }
  }

  private mutating func line(_ name: String, _ label: Metric.Label?, _ value: String) {
    text += name + (label.map { "{\($0.name)=\"\(Self.escaped($0.value))\"}" } ?? "") + " \(value)\n"
  }

  private mutating func append(_ metric: TimedMetric, _ histogram: Histogram.Snapshot) {
    let name = metric.name
    say(name, "histogram", metric.help)
    for (bound, count) in zip(Histogram.bounds, histogram.cumulativeCounts) {
      text += "\(name)_bucket{le=\"\(Self.seconds(bound))\"} \(count)\n"
    }
    text += "\(name)_bucket{le=\"+Inf\"} \(histogram.count)\n"
    text += "\(name)_sum \(Self.seconds(histogram.sum))\n"
    text += "\(name)_count \(histogram.count)\n"
  }

  private mutating func say(_ name: String, _ kind: String, _ help: String) {
    if namesSaid.insert(name).inserted { text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind)\n" }
  }

  /// A label's value, as the format wants it.
  private static func escaped(_ value: String) -> String {
    value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
  }

  private static func seconds(_ duration: Duration) -> Double { Double(duration.wholeNanoseconds) / 1e9 }
}
