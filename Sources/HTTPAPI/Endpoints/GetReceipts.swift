import JSON
import Operations
import PushCore

/// `GET /v1/notifications/{id}/receipts`: what became of each device, as a page of JSON or, all of them, as CSV or NDJSON.
enum GetReceipts {
  static let route = Route(
    .get, "/v1/notifications/{id}/receipts", .backend, .key(.read),
    "Shows the last attempt for each device, or all. With Accept: text/csv or application/x-ndjson all receipts are streamed; limit does not apply then.",
    query: [
      QueryParameter("outcome", "Only this outcome.", oneOf: Outcome.allCases.map(\.name)),
      QueryParameter(
        "attempts", "all: every attempt that was kept, the earliest of a device first, not only the last.",
        oneOf: ["last", "all"]), .limit, .cursor,
    ],
    answers: [
      RouteAnswer(
        200, "A page, or everything as text/csv or application/x-ndjson.", .receiptList,
        types: ["text/csv", "application/x-ndjson"])
    ], refusals: [404], run: run)

  private static func run(_ call: Call) async throws -> Answer {
    let outcome = try outcome(call)
    let attempts: AttemptChoice =
      switch call.query["attempts"] {
      case nil, "last": .last
      case "all": .all
      default: throw Problem(.malformedRequest, "attempts must be last or all")
      }
    let after = try call.query["cursor"].map { DeviceID(try Cursor($0, of: .receipts, count: 1).place[0]) }
    let limit = try call.limit()
    let status = try await call.notification()
    let form = try ReceiptForm.chosen(call.request.head.field("accept"))
    // Chosen by its sender; all others follow from notification and device.
    let apnsID = try await call.context.store.notification(status.id)?.headers.apnsID
    let reader = ReceiptReader(
      context: call.context, status: status, outcome: outcome, attempts: attempts, apnsID: apnsID)
    guard form == .json else { return stream(reader, form, after: after ?? DeviceID(0)) }
    let page = try await reader.page(after: after ?? DeviceID(0), limit: limit)
    return .json { writer in
      writer.name("receipts")
      writer.array { array in for record in page.records { array.object(record.write) } }
      writer.member("next_cursor", page.next.map { Cursor(.receipts, $0.rawValue).text })
    }
  }

  private static func outcome(_ call: Call) throws -> Outcome? {
    guard let name = call.query["outcome"] else { return nil }
    guard let outcome = Outcome(name: name) else {
      let names = Outcome.allCases.map(\.name)
      throw Problem(.malformedRequest, "outcome must be one of \(names.joined(separator: ", "))")
    }
    return outcome
  }

  /// A page at a time, so that any number of receipts takes the memory of one page.
  private static func stream(_ reader: ReceiptReader, _ form: ReceiptForm, after: DeviceID) -> Answer {
    let state = Lock<(next: DeviceID?, isFirst: Bool)>((after, true))
    var answer = Answer(status: 200)
    answer.fields = [("Content-Type", form.mediaType)]
    answer.body = .pieces {
      let (next, isFirst) = state.withLock { $0 }
      guard let next else { return nil }
      let page = try await reader.page(after: next, limit: 1000)
      state.withLock { $0 = (page.next, false) }
      return form.bytes(page.records, withHeader: isFirst)
    }
    return answer
  }
}

/// The forms of receipts.
private enum ReceiptForm {
  case json, csv, ndjson

  /// The form that an `Accept` field asks for; JSON unless it names another.
  static func chosen(_ accept: String?) throws -> ReceiptForm {
    guard let accept else { return .json }
    for range in accept.split(separator: ",") {
      let type = range.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
      switch type {
      case "text/csv": return .csv
      case "application/x-ndjson", "application/ndjson": return .ndjson
      case "application/json", "application/*", "*/*": return .json
      default: continue
      }
    }
    return .json
  }

  var mediaType: String {
    switch self {
    case .json: "application/json"
    case .csv: "text/csv; charset=utf-8; header=present"
    case .ndjson: "application/x-ndjson"
    }
  }

  /// The lines of records.
  func bytes(_ records: [ReceiptRecord], withHeader: Bool) -> [UInt8] {
    var bytes: [UInt8] = []
    if self == .csv, withHeader { bytes += Array((ReceiptRecord.csvHeader + "\r\n").utf8) }
    for record in records {
      if self == .csv {
        bytes += Array((record.csv + "\r\n").utf8)
      } else {
        var writer = JSONWriter()
        writer.object(record.write)
        bytes += writer.bytes + [UInt8(ascii: "\n")]
      }
    }
    return bytes
  }
}

/// Reads receipts of one notification, a page at a time.
private struct ReceiptReader: Sendable {
  let context: APIContext
  let status: NotificationStatus
  let outcome: Outcome?
  let attempts: AttemptChoice
  let apnsID: String?

  /// At most `limit` records behind a device, and where the next page begins.
  func page(after: DeviceID, limit: Int) async throws -> (records: [ReceiptRecord], next: DeviceID?) {
    var page = try await context.store.receipts(
      status.id, outcome: outcome, attempts: attempts, after: after, limit: limit)
    // Packed receipts come as many as lie together; the attempts of one device stay together.
    if page.receipts.count > limit {
      let last = page.receipts[limit - 1].deviceID
      let isCut = page.receipts[limit].deviceID == last && page.receipts[0].deviceID != last
      page.receipts.removeAll { isCut ? $0.deviceID >= last : $0.deviceID > last }
      page.next = page.receipts.last?.deviceID
    }
    let records = try page.receipts.map { receipt in
      var record = ReceiptRecord(
        receipt, notificationID: status.id, topic: status.topic,
        apnsID: try apnsID ?? context.apnsID(status.id, receipt.deviceID),
        reason: context.reasonText(receipt.reason, receipt.storedReason))
      record.showsToken = true
      return record
    }
    return (records, page.next)
  }
}
