import APNs
import Operations

extension APNsSender {
  /// What `/metrics` says of the sender at this moment.
  @Sendable func gauges() async -> [PrometheusText.Gauge] {
    let origins = await snapshot()
    let streams = origins.flatMap(\.connections).reduce(0) { $0 + $1.openStreams }
    let waiting = origins.reduce(0) { $0 + $1.queuedRequests }
    let ages = providerTokenAges.map { age in
      PrometheusText.Gauge(
        "pushrelay_provider_token_age_seconds", "The age of the provider token in use, by key.",
        label: Metric.Label(name: "key", value: age.keyID), value: Double(age.age.wholeMilliseconds) / 1000)
    }
    return [
      PrometheusText.Gauge(
        "pushrelay_apns_streams", "Streams to APNs that are open: pushes without an answer yet.",
        value: Double(streams)),
      PrometheusText.Gauge(
        "pushrelay_apns_waiting_requests", "Pushes that wait for a stream.", value: Double(waiting)),
    ] + ages
  }
}
