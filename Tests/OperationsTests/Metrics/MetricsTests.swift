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
}
