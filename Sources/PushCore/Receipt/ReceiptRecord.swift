import JSON
import Operations

/// One delivery as every surface shows it, as JSON or as a row of CSV. What is not known is null, or empty.
public struct ReceiptRecord: Sendable, Equatable {
  /// The notification; nil for a push that was sent past the queue.
  public var notificationID: NotificationID?
  /// `apns-id`.
  public var apnsID: String?
  /// The topic with its suffix.
  public var topic: String
  /// The device's environment; nil when the device was removed.
  public var environment: Environment?
  /// The device's token; nil when the device was removed.
  public var token: DeviceToken?
  /// Whether the token is shown in full.
  public var showsToken = false
  /// What became of it.
  public var outcome: Outcome
  /// The HTTP status of APNs.
  public var status: Int?
  /// Why.
  public var reason: String?
  /// When.
  public var at: UnixMilliseconds?
  /// Counted sends; nil in packed receipts.
  public var attempts: Int?
  /// From the request's first byte to its answer; nil in packed receipts.
  public var latencyMilliseconds: Int?
  /// When the app reported that the push woke it; shown in JSON where it did.
  public var deliveredAt: UnixMilliseconds?
  /// When the app reported that a person opened the push; shown in JSON where it did.
  public var openedAt: UnixMilliseconds?

  /// A record by its values.
  public init(
    notificationID: NotificationID?, apnsID: String?, topic: String, environment: Environment?, token: DeviceToken?,
    outcome: Outcome, status: Int? = nil, reason: String? = nil, at: UnixMilliseconds? = nil, attempts: Int? = nil,
    latencyMilliseconds: Int? = nil
  ) {
    self.notificationID = notificationID
    self.apnsID = apnsID
    self.topic = topic
    self.environment = environment
    self.token = token
    self.outcome = outcome
    self.status = status
    self.reason = reason
    self.at = at
    self.attempts = attempts
    self.latencyMilliseconds = latencyMilliseconds
  }

  /// The record of a stored receipt.
  ///
  /// - Parameters:
  ///   - apnsID: the `apns-id` of the push.
  ///   - reason: the words for its reason.
  public init(
    _ receipt: Receipt, notificationID: NotificationID, topic: String, apnsID: String?, reason: String?
  ) {
    self.init(
      notificationID: notificationID, apnsID: apnsID, topic: topic, environment: receipt.environment,
      token: receipt.token, outcome: receipt.outcome, status: receipt.status == 0 ? nil : receipt.status,
      reason: reason, at: receipt.at, attempts: receipt.attempts, latencyMilliseconds: receipt.latencyMilliseconds)
    deliveredAt = receipt.deliveredAt
    openedAt = receipt.openedAt
  }

  /// The token as it is shown.
  public var shownToken: String? { showsToken ? token?.text : token?.shortened }

  /// The members of its JSON object.
  public func write(to writer: inout JSONWriter) {
    writer.member("notification_id", notificationID?.description)
    writer.member("apns_id", apnsID)
    writer.member("topic", topic)
    writer.member("environment", environment?.name)
    writer.member("device_token", shownToken)
    writer.member("outcome", outcome.name)
    writer.member("status", status)
    writer.member("reason", reason)
    writer.member("timestamp", at.map(RFC3339.format))
    writer.member("attempts", attempts)
    writer.member("latency_ms", latencyMilliseconds)
    if let deliveredAt { writer.member("delivered_at", RFC3339.format(deliveredAt)) }
    if let openedAt { writer.member("opened_at", RFC3339.format(openedAt)) }
  }

  /// The header row of CSV: the names of the JSON members.
  public static let csvHeader =
    "notification_id,apns_id,topic,environment,device_token,outcome,status,reason,timestamp,attempts,latency_ms"

  /// Its row of CSV (RFC 4180), without a line end.
  public var csv: String {
    let fields: [String?] = [
      notificationID?.description, apnsID, topic, environment?.name, shownToken, outcome.name,
      status.map(String.init), reason, at.map(RFC3339.format), attempts.map(String.init),
      latencyMilliseconds.map(String.init),
    ]
    return fields.map(Self.quoted).joined(separator: ",")
  }

  private static func quoted(_ field: String?) -> String {
    guard let field else { return "" }
    guard field.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return field }
    return "\"" + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }
}
