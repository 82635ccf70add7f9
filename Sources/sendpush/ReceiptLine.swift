import JSON
import Operations
import PushCore

/// What `send` and `receipts` print of one delivery.
struct ReceiptLine {
  var notificationID: NotificationID?
  var apnsID: String?
  var topic: String
  var environment: Environment?
  var token: DeviceToken?
  var outcome: Outcome
  var status: Int?
  var reason: String?
  var at: UnixMilliseconds?
  var attempts: Int?
  var latencyMilliseconds: Int?
  /// What to do about it; for people only.
  var remedy: String?
}

/// The three forms of receipts.
enum ReceiptForm {
  case text
  case json
  case csv
}

/// Prints receipts in one form.
struct ReceiptPrinter {
  let form: ReceiptForm
  let showsTokens: Bool
  let console: Console

  private static let columns = [
    "notification_id", "apns_id", "topic", "environment", "device_token", "outcome", "status", "reason", "timestamp",
    "attempts", "latency_ms",
  ]

  /// Prints what comes before the first receipt.
  func begin() {
    if form == .csv { console.print(Self.columns.joined(separator: ",")) }
  }

  func print(_ line: ReceiptLine) {
    switch form {
    case .text: console.print(text(line))
    case .json: console.print(json(line))
    case .csv: console.print(csv(line))
    }
  }

  private func shown(_ token: DeviceToken?) -> String? { showsTokens ? token?.text : token?.shortened }

  private func text(_ line: ReceiptLine) -> String {
    var parts = [line.outcome.name, shown(line.token) ?? "(device removed)"]
    if let status = line.status { parts.append(String(status)) }
    if let reason = line.reason { parts.append(reason) }
    if let id = line.apnsID { parts.append("apns-id \(id)") }
    if let latency = line.latencyMilliseconds { parts.append("\(latency) ms") }
    let text = parts.joined(separator: "  ")
    return line.remedy.map { "\(text)\n  \($0)" } ?? text
  }

  private func json(_ line: ReceiptLine) -> String {
    var writer = JSONWriter()
    writer.object {
      $0.member("notification_id", line.notificationID?.description)
      $0.member("apns_id", line.apnsID)
      $0.member("topic", line.topic)
      $0.member("environment", line.environment?.name)
      $0.member("device_token", shown(line.token))
      $0.member("outcome", line.outcome.name)
      $0.member("status", line.status)
      $0.member("reason", line.reason)
      $0.member("timestamp", line.at.map(RFC3339.format))
      $0.member("attempts", line.attempts)
      $0.member("latency_ms", line.latencyMilliseconds)
    }
    return writer.text
  }

  private func csv(_ line: ReceiptLine) -> String {
    let fields: [String?] = [
      line.notificationID?.description, line.apnsID, line.topic, line.environment?.name, shown(line.token),
      line.outcome.name, line.status.map(String.init), line.reason, line.at.map(RFC3339.format),
      line.attempts.map(String.init), line.latencyMilliseconds.map(String.init),
    ]
    return fields.map(quoted).joined(separator: ",")
  }

  private func quoted(_ field: String?) -> String {
    guard let field else { return "" }
    guard field.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return field }
    return "\"" + field.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }
}
