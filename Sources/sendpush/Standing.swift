import APNs
import Composition
import Operations
import PushCore

/// Why a notification is not final yet, and what would make it go on.
struct Standing {
  /// The question for whoever waits in vain.
  static let isServing = "is pushrelay serve running?"

  private let status: NotificationStatus
  /// Why its app is held.
  private var heldReason: String?
  /// What APNs said about a device that is tried again.
  private var lastReason: String?
  /// Why nothing can be sent at the moment.
  private var trouble: Credential.Trouble?

  /// Devices that are looked at for a reason: one page.
  private static let pageSize = 1000

  init(_ status: NotificationStatus, in store: any Store) async throws {
    self.status = status
    switch status.state {
    case .held:
      let credentials = try await store.credentials()
      heldReason = credentials.first { $0.topic == status.topic && $0.heldSince != nil }?.heldReason
    case .sending, .queued:
      trouble = try await store.credentials().first { $0.topic == status.topic && $0.trouble != nil }?.trouble
      guard status.counts.pending > 0 else { return }
      let page = try await store.receipts(status.id, outcome: .pending, after: DeviceID(0), limit: Self.pageSize)
      lastReason = page.receipts.lazy.compactMap { ReasonTable.text(of: $0.reason, stored: $0.storedReason) }.first
    case .scheduled, .parked, .done, .canceled: break
    }
  }

  /// What is worth a line beside the status; nil when its state says it all.
  var story: String? {
    switch status.state {
    case .held, .parked: outlook
    case .sending, .queued: obstacle ?? lastReason.map { "some devices are tried again; the last reason is \($0)" }
    case .scheduled, .done, .canceled: nil
    }
  }

  /// What it waits for.
  var outlook: String {
    switch status.state {
    case .scheduled: "it is sent from \(RFC3339.format(status.sendAt ?? status.createdAt)) on"
    case .queued: obstacle ?? "no relay has taken it: \(Self.isServing)"
    case .sending: obstacle ?? "it goes on by itself" + (lastReason.map { "; the last reason is \($0)" } ?? "")
    case .held: hold
    case .parked: "it killed its worker repeatedly, and an operator must decide"
    case .done, .canceled: "nothing more will happen"
    }
  }

  private var obstacle: String? {
    trouble.map { "nothing could be sent since \(RFC3339.format($0.since)): \($0.text)" }
  }

  private var hold: String {
    let resume = "run pushrelay app resume --topic \(status.topic)"
    switch heldReason {
    case nil: return "its app was paused a moment ago and is not any more"
    case Credential.pausedByOperator: return "its app was paused by an operator: to go on, \(resume)"
    case "NoSigner": return "no relay with its app's key has run for minutes: \(Self.isServing)"
    case let reason?:
      let remedy = ReasonTable.id(of: reason).flatMap(ReasonTable.remedy).map { " \($0)" } ?? ""
      return "its app is paused: \(reason).\(remedy) When that is mended, \(resume)"
    }
  }
}
