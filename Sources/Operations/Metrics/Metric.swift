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

    fileprivate init(_ kind: Kind, _ name: String, outcome: String? = nil) {
      self.init(kind, name, label: outcome.map { Label(name: "outcome", value: $0) })
    }

    fileprivate init(_ kind: Kind, _ name: String, label: Label?) {
      self.kind = kind
      self.name = "pushrelay_\(name)"
      self.label = label
    }
  }

  /// What is said of this metric wherever it is shown.
  public var description: Description {
    switch self {
    case .notificationsEnqueued: Description(.counter, "notifications_enqueued_total")
    case .deliveriesAccepted: Description(.counter, "deliveries_total", outcome: "accepted")
    case .deliveriesRejected: Description(.counter, "deliveries_total", outcome: "rejected")
    case .deliveriesExpired: Description(.counter, "deliveries_total", outcome: "expired")
    case .deliveriesCanceled: Description(.counter, "deliveries_total", outcome: "canceled")
    case .deliveriesFailed: Description(.counter, "deliveries_total", outcome: "failed")
    case .deliveriesSkipped: Description(.counter, "deliveries_total", outcome: "skipped")
    case .retriesScheduled: Description(.counter, "retries_scheduled_total")
    case .connectionsOpened: Description(.counter, "apns_connections_opened_total")
    case .connectionFailures: Description(.counter, "apns_connection_failures_total")
    case .goAwaysReceived: Description(.counter, "apns_goaways_total")
    case .tasksClaimed: Description(.counter, "tasks_claimed_total")
    case .leasesLost: Description(.counter, "leases_lost_total")
    case .flushes: Description(.counter, "flushes_total")
    case .connectionsOpen: Description(.gauge, "apns_connections")
    case .appsPaused: Description(.gauge, "apps_paused")
    case .httpSuccesses: Description(.counter, "http_requests_total", label: Label(name: "class", value: "success"))
    case .httpCallerFaults: Description(.counter, "http_requests_total", label: Label(name: "class", value: "4xx"))
    case .httpServerFaults: Description(.counter, "http_requests_total", label: Label(name: "class", value: "5xx"))
    }
  }
}
