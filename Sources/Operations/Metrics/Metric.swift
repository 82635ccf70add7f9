/// Everything that is counted or measured: the closed list from which the registry and its output are made.
public enum Metric: Int, Sendable, CaseIterable {
  /// Notifications taken into the queue.
  case notificationsEnqueued
  /// Deliveries that APNs accepted.
  case deliveriesAccepted
  /// Deliveries that APNs refused for good.
  case deliveriesRejected
  /// Deliveries whose deadline passed.
  case deliveriesExpired
  /// Deliveries canceled before they were sent.
  case deliveriesCanceled
  /// Deliveries given up after the last try.
  case deliveriesFailed
  /// Deliveries not made because the device is not targeted any more.
  case deliveriesSkipped
  /// Tries that will be made again.
  case retriesScheduled
  /// Connections to APNs that were made.
  case connectionsOpened
  /// Connections to APNs that could not be made.
  case connectionFailures
  /// GOAWAY frames received.
  case goAwaysReceived
  /// Tasks leased from the queue.
  case tasksClaimed
  /// Leases found to be lost when their results were written.
  case leasesLost
  /// Transactions that wrote results.
  case flushes
  /// Connections to APNs that are open.
  case connectionsOpen
  /// Apps whose sending is paused.
  case appsPaused
  /// HTTP requests answered with success.
  case httpSuccesses
  /// HTTP requests refused because of what the caller sent.
  case httpCallerFaults
  /// HTTP requests that failed because of the relay.
  case httpServerFaults
  /// Messages of webhooks that arrived.
  case webhooksDelivered
  /// Messages of webhooks that were given up.
  case webhooksFailed

  /// Whether a value only grows, or goes up and down.
  public enum Kind: String, Sendable {
    /// Only grows.
    case counter
    /// Goes up and down.
    case gauge
  }

  /// A label of Prometheus; both parts come from our code.
  public struct Label: Sendable, Equatable {
    /// Its name.
    public let name: String
    /// Its value.
    public let value: String

    /// A label by its parts.
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// What is said of a metric wherever it is shown.
  public struct Description: Sendable, Equatable {
    /// Whether the value only grows, or goes up and down.
    public let kind: Kind
    /// The name as in Prometheus: with its unit, and `_total` for counters.
    public let name: String
    /// What tells metrics of one name apart: a label's name and value.
    public let label: Label?
    /// What it counts, in one sentence; the same for all labels of one name.
    public let help: String

    fileprivate init(_ kind: Kind, _ name: String, _ help: String, label: Label? = nil) {
      self.kind = kind
      self.name = "pushrelay_\(name)"
      self.label = label
      self.help = help
    }
  }

  /// What is said of this metric wherever it is shown.
  public var description: Description {
    switch self {
    case .notificationsEnqueued:
      Description(.counter, "notifications_enqueued_total", "Notifications taken into the queue over HTTP.")
    case .deliveriesAccepted: Self.deliveries("accepted")
    case .deliveriesRejected: Self.deliveries("rejected")
    case .deliveriesExpired: Self.deliveries("expired")
    case .deliveriesCanceled: Self.deliveries("canceled")
    case .deliveriesFailed: Self.deliveries("failed")
    case .deliveriesSkipped: Self.deliveries("skipped")
    case .retriesScheduled: Description(.counter, "retries_scheduled_total", "Tries that will be made again.")
    case .connectionsOpened:
      Description(.counter, "apns_connections_opened_total", "Connections to APNs that were made.")
    case .connectionFailures:
      Description(.counter, "apns_connection_failures_total", "Connections to APNs that could not be made.")
    case .goAwaysReceived: Description(.counter, "apns_goaways_total", "GOAWAY frames received.")
    case .tasksClaimed: Description(.counter, "tasks_claimed_total", "Tasks leased from the queue.")
    case .leasesLost:
      Description(.counter, "leases_lost_total", "Leases found to be lost when their results were written.")
    case .flushes: Description(.counter, "flushes_total", "Tasks of which results were written.")
    case .connectionsOpen: Description(.gauge, "apns_connections", "Connections to APNs that are open.")
    case .appsPaused: Description(.gauge, "apps_paused", "Apps whose sending is paused.")
    case .httpSuccesses: Self.requests("success")
    case .httpCallerFaults: Self.requests("4xx")
    case .httpServerFaults: Self.requests("5xx")
    case .webhooksDelivered: Self.webhooks("delivered")
    case .webhooksFailed: Self.webhooks("failed")
    }
  }

  private static func deliveries(_ outcome: String) -> Description {
    Description(
      .counter, "deliveries_total", "Deliveries that are final, by outcome.",
      label: Label(name: "outcome", value: outcome))
  }

  private static func webhooks(_ outcome: String) -> Description {
    Description(
      .counter, "webhooks_total", "Messages of webhooks that arrived or were given up.",
      label: Label(name: "outcome", value: outcome))
  }

  private static func requests(_ kind: String) -> Description {
    Description(
      .counter, "http_requests_total", "HTTP requests that were answered, by the class of the answer.",
      label: Label(name: "class", value: kind))
  }
}
