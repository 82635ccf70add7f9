import HTTP2
import Operations
import PushCore

/// Reads the HTTP/2 client's responses: answers for the worker, and what the sender does again itself.
///
/// A value without I/O. The way of an accepted push through it makes no string, closure or dictionary look-up.
struct AnswerReader {
  /// The response field that identifies a push in Apple's delivery log.
  static let uniqueID = "apns-unique-id"

  /// Pushes of one batch that are sent once more.
  struct Repeat {
    let batch: SentBatch
    var indexes: [Int32]
    /// The newest connection that gave the answer: it and older ones are not used again.
    var connection: UInt32
    /// Whether another provider token is needed, not only another connection.
    let needsProviderToken: Bool
  }

  private(set) var answers: [PushAnswer] = []
  private(set) var repeats: [Repeat] = []
  /// Keys whose provider tokens APNs calls too many, with the token presented.
  private(set) var tooManyUpdates: [(key: ProviderKey, token: ProviderToken)] = []
  /// Credentials that were refused, and the connections of whose pushes that was.
  private(set) var held: Set<CredentialID> = []
  private(set) var refusing: Set<HTTP2OriginID> = []

  private let wallTime: UnixMilliseconds
  private let time: MonotonicTime
  private var lastFailure: (http: HTTP2Failure, send: SendFailure)?

  init(wallTime: UnixMilliseconds, time: MonotonicTime) {
    self.wallTime = wallTime
    self.time = time
  }

  /// How soon a push is offered again that was withdrawn: the answers that tell what to do are on their way.
  private static let withdrawalWait: Duration = .milliseconds(100)
  /// How soon a push is offered again whose connection ended without a word on when.
  private static let connectionWait: Duration = .seconds(1)

  /// Reads responses in runs of one batch each.
  mutating func read(_ responses: [HTTP2Response], of sent: inout SentBatches) {
    answers.reserveCapacity(responses.count)
    var start = 0
    while start < responses.count {
      let number = responses[start].batch
      var end = start + 1
      while end < responses.count, responses[end].batch == number { end += 1 }
      if let batch = sent[number] {
        for response in responses[start..<end] { read(response, batch) }
        sent.answered(number, end - start)
      }
      start = end
    }
  }

  private mutating func read(_ response: HTTP2Response, _ batch: SentBatch) {
    let verdict: Verdict
    var status: UInt16 = 0
    var uniqueID: String?
    switch response.outcome {
    case .answered(200, _, let fields):
      status = 200
      if !fields.isEmpty { uniqueID = Self.uniqueID(in: fields) }
      verdict = .accepted
    case .answered(let code, let body, let fields):
      status = code
      uniqueID = Self.uniqueID(in: fields)
      guard let found = refused(code, body, fields, response, batch) else { return }
      verdict = found
    case .unsent(let failure): verdict = refusedCertificate(failure, batch) ?? unsent(failure)
    case .unanswered(let failure): verdict = Self.unanswered(failure)
    }
    answers.append(
      PushAnswer(
        batch: batch.push.id, index: batch.index(of: response.entry), status: status,
        verdict: verdict,
        latencyMilliseconds: status == 0
          ? -1 : Int32(clamping: response.latencyNanoseconds / 1_000_000),
        apnsUniqueID: uniqueID))
  }

  /// The verdict of an answer other than 200; nil when the push is sent once more.
  private mutating func refused(
    _ status: UInt16, _ body: [UInt8], _ fields: [HTTP2FieldValue], _ response: HTTP2Response,
    _ batch: SentBatch
  ) -> Verdict? {
    let reading = ResponseReader.read(status: status, body: body, fields: fields, now: wallTime)
    switch reading.kind {
    case .newProviderToken where !batch.isRepeat && batch.authorization.token != nil:
      addRepeat(response, batch, needsProviderToken: true)
      return nil
    case .reconnect where !batch.isRepeat, .ownConnection where !batch.isRepeat:
      addRepeat(response, batch, needsProviderToken: false)
      return nil
    case .waitProviderToken:
      if case .token(let key, let token) = batch.authorization,
        !tooManyUpdates.contains(where: { $0.token == token })
      {
        tooManyUpdates.append((key, token))
      }
    case .drop, .gone, .unfit, .holdKey, .holdApp, .newProviderToken, .reconnect, .ownConnection,
      .waitDevice, .wait:
      break
    }
    if case .held = reading.verdict {
      held.insert(batch.push.credential)
      refusing.insert(batch.origin)
    }
    return reading.verdict
  }

  private mutating func addRepeat(
    _ response: HTTP2Response, _ batch: SentBatch, needsProviderToken: Bool
  ) {
    let index = batch.index(of: response.entry)
    if let last = repeats.indices.last, repeats[last].batch.push.id == batch.push.id,
      repeats[last].needsProviderToken == needsProviderToken
    {
      repeats[last].indexes.append(index)
      repeats[last].connection = max(repeats[last].connection, response.connection)
    } else {
      repeats.append(
        Repeat(
          batch: batch, indexes: [index], connection: response.connection,
          needsProviderToken: needsProviderToken))
    }
  }

  /// The verdict when APNs refuses the connection's certificate: the app is held, as for a refused key. It says so in TLS, or
  /// by a GOAWAY at once.
  private mutating func refusedCertificate(_ failure: HTTP2Failure, _ batch: SentBatch) -> Verdict? {
    guard case .certificate = batch.authorization else { return nil }
    let environment = "BadCertificateEnvironment"
    let verdict: Verdict
    if failure.kind == .certificateRefused {
      verdict = .held(.key, ReasonTable.reason("BadCertificate"))
    } else if failure.kind == .goaway, failure.reason.contains(environment) {
      verdict = .held(.app, ReasonTable.reason(environment))
    } else {
      return nil
    }
    held.insert(batch.push.credential)
    return verdict
  }

  /// Not processed by APNs for certain; one failure usually concerns many pushes.
  private mutating func unsent(_ failure: HTTP2Failure) -> Verdict {
    if failure.kind == .invalidRequest { return .rejected(.unknown("RequestNotSendable")) }
    let retryAt =
      switch failure.kind {
      case .deadline, .closing: time
      case .withdrawn: time + Self.withdrawalWait
      // The client itself leaves time between its tries.
      case .refusedStream: failure.retryNotBefore ?? time
      default: failure.retryNotBefore ?? time + Self.connectionWait
      }
    if let lastFailure, lastFailure.http.kind == failure.kind,
      lastFailure.http.endpoint == failure.endpoint,
      lastFailure.http.reason == failure.reason
    {
      return .unsent(lastFailure.send, retryAt: retryAt)
    }
    let send = SendFailure(failure)
    lastFailure = (failure, send)
    return .unsent(send, retryAt: retryAt)
  }

  /// Perhaps processed: the repeat carries the same apns-id and collapse id.
  private static func unanswered(_ failure: HTTP2Failure) -> Verdict {
    .retry(.known(failure.kind == .requestTimeout ? .timeout : .connectionLost), notBefore: nil)
  }

  private static func uniqueID(in fields: [HTTP2FieldValue]) -> String? {
    fields.first { $0.name == uniqueID }?.value
  }
}
