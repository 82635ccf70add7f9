import JSON
import Operations
import PushCore

/// What `send` and `receipts` print of one delivery.
struct ReceiptLine {
  var record: ReceiptRecord
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

  /// Prints what comes before the first receipt.
  func begin() {
    if form == .csv { console.print(ReceiptRecord.csvHeader) }
  }

  func print(_ line: ReceiptLine) {
    var record = line.record
    record.showsToken = showsTokens
    switch form {
    case .text: console.print(Self.text(record, remedy: line.remedy))
    case .json: console.print(object: record.write)
    case .csv: console.print(record.csv)
    }
  }

  private static func text(_ record: ReceiptRecord, remedy: String?) -> String {
    var parts = [record.outcome.name, record.shownToken ?? "(device removed)"]
    if let status = record.status { parts.append(String(status)) }
    if let reason = record.reason { parts.append(reason) }
    if let id = record.apnsID { parts.append("apns-id \(id)") }
    if let latency = record.latencyMilliseconds { parts.append("\(latency) ms") }
    let text = parts.joined(separator: "  ")
    return remedy.map { "\(text)\n  \($0)" } ?? text
  }
}
