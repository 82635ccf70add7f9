import Foundation
import Operations
import Testing

@Suite("Metrics")
struct MetricsTests {
  @Test("counters add up over threads and gauges go both ways")
  func counting() async {
    let metrics = Metrics()

    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<1000 { metrics.add(to: .tasksClaimed) } }
      }
    }
    metrics.add(5, to: .appsPaused)
    metrics.add(-2, to: .appsPaused)
    metrics.set(.connectionsOpen, to: 4)

    #expect(metrics.value(of: .tasksClaimed) == 8000)
    let values = Dictionary(uniqueKeysWithValues: metrics.snapshot().map { ($0.metric, $0.value) })
    #expect(values.count == Metric.allCases.count)
    #expect(values[.appsPaused] == 3)
    #expect(values[.connectionsOpen] == 4)
    #expect(values[.flushes] == 0)
  }

  @Test("names are those of Prometheus, and each with its label is there once")
  func names() {
    let descriptions = Metric.allCases.map(\.description)

    for description in descriptions {
      #expect(description.name.hasPrefix("pushrelay_"))
      #expect(description.name.hasSuffix("_total") == (description.kind == .counter))
    }
    #expect(Set(descriptions.map { "\($0.name) \($0.label?.value ?? "")" }).count == descriptions.count)
  }

  @Test("durations counted apart and added at once are as good as each by itself, also beyond all bounds")
  func durations() {
    let (one, many) = (Metrics(), Metrics())
    let durations: [Duration] = [.zero, .microseconds(500), .microseconds(501), .seconds(16), .seconds(17)]
    var counts = DurationCounts()
    #expect(counts.isEmpty)
    for duration in durations {
      one.record(duration, of: .push)
      counts.add(duration)
    }
    many.record(counts, of: .push)

    let snapshot = many.histogram(of: .push)
    #expect(snapshot == one.histogram(of: .push))
    #expect(snapshot.cumulativeCounts.prefix(2) == [2, 3])
    #expect(snapshot.cumulativeCounts.last == 4 && snapshot.count == 5)
  }

  @Test("words that others choose are counted and escaped, and too many of them are one")
  func words() {
    let metrics = Metrics()
    metrics.add(2, to: .refusals, "Bad\"Word\\\n")
    for number in 0..<200 { metrics.add(1, to: .refusals, "Invented\(number)") }

    let counts = metrics.counts(of: .refusals)
    #expect(counts.count == 101 && counts.reduce(0) { $0 + $1.count } == 202)
    let text = PrometheusText(metrics).text
    #expect(text.contains("pushrelay_apns_refusals_total{reason=\"Bad\\\"Word\\\\\\n\"} 2\n"))
    #expect(text.contains("# HELP pushrelay_apns_refusals_total Answers"))
  }

  @Test("the page of metrics lists each that is shown, with its type")
  func page() throws {
    let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardized
    let page = try String(
      contentsOf: root.appendingPathComponent("Sources/Operations/Operations.docc/Metrics.md"), encoding: .utf8)
    for line in PrometheusText(Metrics()).text.split(separator: "\n") where line.hasPrefix("# TYPE ") {
      let words = line.split(separator: " ")
      #expect(page.contains("| `\(words[2])` | \(words[3]) |"), "\(line)")
    }
  }
}
