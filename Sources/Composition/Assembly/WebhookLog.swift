import Operations
import PushCore
import Webhooks

/// Makes log lines and metrics of what becomes of webhooks. Of a URL the host alone is shown.
struct WebhookLog: Sendable {
  private let logger: Logger
  private let metrics: Metrics

  /// A log on a logger and metrics.
  init(logger: Logger, metrics: Metrics) {
    self.logger = logger
    self.metrics = metrics
  }

  /// Takes one event.
  func note(_ event: WebhookEvent) {
    switch event {
    case .delivered(let publishID, let host):
      metrics.add(to: .webhooksDelivered)
      log(publishID, host).debug("webhook delivered")
    case .failed(let publishID, let host, let reason):
      log(publishID, host).debug("webhook not delivered; it is sent again", ["reason": .string(reason)])
    case .givenUp(let publishID, let host, let reason):
      metrics.add(to: .webhooksFailed)
      log(publishID, host).warning("webhook given up after its last try", ["reason": .string(reason)])
    case .storeFailed(let error): logger.error("the store fails; webhooks wait", ["error": .describing(error)])
    }
  }

  private func log(_ publishID: String, _ host: String) -> Logger {
    logger.with(["publish.id": .string(publishID), "webhook.host": .string(host)])
  }
}
