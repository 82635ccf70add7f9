import Operations
import PushCore

/// `GET /metrics`: the counters, for Prometheus.
enum GetMetrics {
  static let route = Route(
    .get, "/metrics", .operations, .open,
    "The process's counters and the age of the queue, in the text format of Prometheus.",
    answers: [RouteAnswer(200, "Text.", types: ["text/plain"])]
  ) { call in
    var gauges = await call.context.gauges()
    do {
      let now = call.context.clocks.wallTime()
      gauges += try await call.context.store.backlog().map { backlog in
        let age = backlog.oldestDueAt.map { max(now.value - $0.value, 0) } ?? 0
        return PrometheusText.Gauge(
          "pushrelay_queue_age_seconds", "How long the oldest due task of a lane has waited.",
          label: Metric.Label(name: "lane", value: backlog.lane.name), value: Double(age) / 1000)
      }
    } catch {
      // The other metrics are wanted most when the store is gone.
      call.context.logger.warning("the age of the queue is not known", ["error": .string("\(error)")])
    }
    let text = PrometheusText(call.context.metrics, gauges: gauges).text
    return Answer(status: 200, type: PrometheusText.mediaType, Array(text.utf8))
  }
}
