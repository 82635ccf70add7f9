import HTTP2
import Operations
import PushCore

/// What an answer of APNs means for the delivery. Pure: status, body and fields in, verdict out.
enum ResponseReader {
  /// The response field that says when to come back; APNs was not seen to send it, a middlebox may.
  static let retryAfter = "retry-after"
  /// How long a device with too many pushes is left alone when APNs does not say.
  static let deviceWait: Duration = .seconds(60)
  /// How long a push waits after TooManyProviderTokenUpdates when APNs does not say.
  static let providerTokenWait: Duration = .seconds(30)
  /// The longest wait that is believed.
  private static let longestWait: Int64 = 86_400

  /// An answer's reason, and what it asks of the sender.
  struct Reading: Equatable {
    /// Of the table, or the word that no table has.
    let reason: PushReason
    /// What the table, or for unknown words the status, asks.
    let kind: ReasonClass
    /// The verdict when the sender itself does nothing more about it.
    let verdict: Verdict
  }

  /// What an answer means. 200 is accepted, whatever the body says.
  static func verdict(
    status: UInt16, body: [UInt8], fields: [HTTP2FieldValue], now: UnixMilliseconds
  ) -> Verdict {
    status == 200 ? .accepted : read(status: status, body: body, fields: fields, now: now).verdict
  }

  /// Reads an answer other than 200.
  static func read(
    status: UInt16, body: [UInt8], fields: [HTTP2FieldValue], now: UnixMilliseconds
  ) -> Reading {
    let content = ResponseBody(body, now: now)
    let wait = fields.first { $0.name == retryAfter }.flatMap { seconds($0.value) }
    let id = content.reason.flatMap(ReasonTable.id)
    let reason: PushReason =
      if let id { .known(id) } else { .unknown(content.reason ?? "HTTP \(status)") }
    let kind = id.flatMap(ReasonTable.row)?.kind ?? kind(ofStatus: status)
    return Reading(
      reason: reason, kind: kind,
      verdict: verdict(kind, reason, timestamp: content.timestamp, wait: wait))
  }

  private static func verdict(
    _ kind: ReasonClass, _ reason: PushReason, timestamp: UnixMilliseconds?, wait: Duration?
  ) -> Verdict {
    switch kind {
    case .drop: .rejected(reason)
    case .gone: .gone(reason, registeredBefore: timestamp)
    case .unfit: .unfit(reason)
    case .holdKey: .held(.key, reason)
    case .holdApp, .ownConnection: .held(.app, reason)
    // The sender has tried once more, and it was the same: a clock or a key is wrong.
    case .newProviderToken: .held(.key, reason)
    case .reconnect, .wait: .retry(reason, notBefore: wait)
    case .waitDevice: .retry(reason, notBefore: wait ?? deviceWait)
    case .waitProviderToken: .retry(reason, notBefore: wait ?? providerTokenWait)
    }
  }

  /// What an unknown reason asks, by the class of its status.
  private static func kind(ofStatus status: UInt16) -> ReasonClass {
    switch status {
    case 401, 403: .holdKey
    case 410: .gone
    // 431: what the peer takes at the moment, and nothing of the device.
    case 408, 425, 429, 431: .wait
    case 400..<500: .drop
    default: .wait
    }
  }

  /// `Retry-After` in seconds (RFC 9110 §10.2.3). The form with a date is not believed: it would compare two clocks.
  private static func seconds(_ text: String) -> Duration? {
    guard let seconds = Int64(text), seconds >= 0 else { return nil }
    return .seconds(min(seconds, longestWait))
  }
}
