import APNs
import Delivery
import Operations
import PushCore

/// Makes log lines and metrics of what a worker tells: the one place where an event gets its words.
public struct WorkerLog: Sendable {
  private let logger: Logger
  private let metrics: Metrics

  /// A log on a logger and metrics.
  public init(logger: Logger, metrics: Metrics) {
    self.logger = logger
    self.metrics = metrics
  }

  /// Takes one event.
  public func note(_ event: WorkerEvent) {
    switch event {
    case .timed(let metric, let duration): metrics.record(duration, of: metric)
    case .answered(let latencies, let refusals):
      metrics.record(latencies, of: .push)
      for (reason, count) in refusals { metrics.add(Int64(count), to: .refusals, reason) }
    case .claimed(let lane, let tasks):
      metrics.add(Int64(tasks), to: .tasksClaimed)
      logger.debug("tasks claimed", ["lane": .string(lane.name), "task.count": .count(tasks)])
    case .settled(let lane, let counts): noteReceipts(lane, counts)
    case .held(let credentials, let reason):
      metrics.add(Int64(credentials.count), to: .appsPaused)
      for credential in credentials {
        log(credential).error(
          "app paused: APNs refuses its credential; its notifications wait. Run pushrelay check, then pushrelay app resume",
          [
            "reason": .string(reason),
            "remedy": .string(ReasonTable.id(of: reason).flatMap(ReasonTable.remedy) ?? ""),
          ])
      }
    case .resumed(let credentials):
      metrics.add(-Int64(credentials.count), to: .appsPaused)
      for credential in credentials { log(credential).info("app resumed: its notifications are sent again") }
    case .failing(let credential, let reason, let devices):
      metrics.add(Int64(devices), to: .retriesScheduled)
      log(credential).warning(
        "pushes failed and are tried again", ["reason": .string(reason), "device.count": .count(devices)])
    case .unreachable(let credential, let failure):
      log(credential).warning("cannot send; notifications wait", ["error": .describing(failure)])
    case .reachable(let credential): log(credential).info("sending again")
    case .retirementStopped(let credential):
      log(credential).error(
        "most devices are called bad, none is retired for it: is the environment or the topic right?")
    case .parked(let notification):
      logger.error(
        "notification parked: it was claimed five times without progress",
        ["notification.id": .describing(notification)])
    case .leaseLost(let notification):
      metrics.add(to: .leasesLost)
      logger.warning(
        "lease lost: another worker goes on with the notification", ["notification.id": .describing(notification)])
    case .storeFailed(let error):
      logger.error("the store fails; everything waits", ["error": .describing(error)])
    case .storeRecovered: logger.info("the store works again")
    case .unreadable(let notification):
      logger.error(
        "notification cannot be read; it will be parked", ["notification.id": .describing(notification)])
    }
  }

  private func log(_ credential: Credential) -> Logger {
    logger.with([
      "topic": .string(credential.topic), "environment": .string(credential.environment.name),
      "key.id": .string(credential.keyID ?? ""),
    ])
  }

  private func noteReceipts(_ lane: Lane, _ counts: Counts) {
    metrics.add(to: .flushes)
    metrics.add(Int64(counts.accepted), to: .deliveriesAccepted)
    metrics.add(Int64(counts.rejected), to: .deliveriesRejected)
    metrics.add(Int64(counts.expired), to: .deliveriesExpired)
    metrics.add(Int64(counts.canceled), to: .deliveriesCanceled)
    metrics.add(Int64(counts.failed), to: .deliveriesFailed)
    metrics.add(Int64(counts.skipped), to: .deliveriesSkipped)
    logger.debug("receipts written", ["lane": .string(lane.name), "accepted": .count(counts.accepted)])
  }
}
