import HTTP2
import JSON
import Operations

/// What the simulator does with one request. The rules fill it in; whatever else may want a say about a request (an answer
/// that never comes, a GOAWAY behind it, a lower stream limit) changes this value and nothing else.
struct Decision: Sendable {
  /// The status of the answer.
  var status: Int
  /// The `reason` of the answer; nil with 200.
  var reason: String?
  /// With 410: the time in the answer.
  var timestamp: UnixMilliseconds?
  /// The body in place of the one made of reason and timestamp.
  var body: [UInt8]?
  /// The `apns-id` of the answer.
  var messageID: String?
  /// The `apns-request-id` of the answer, which stands in the place of the `apns-id` in all APIs but that of devices.
  var requestID: String?
  /// The `apns-unique-id` of the answer: to pushes in development, and to broadcasts.
  var uniqueID: String?
  /// The `apns-channel-id` of the answer.
  var channelID: String?
  /// How long the answer waits.
  var delay = Duration.zero
  /// What becomes of the stream.
  var outcome = ServerReply.Outcome.answer
  /// Further fields of the answer.
  var fields: [String: String] = [:]
  /// The answer waits until its connection has had so many requests.
  var heldUntilRequest = 0
  /// The rule of the script that made itself felt, from 1.
  var rule: Int?
  /// What is done to the connection before the outcome.
  var commandsBefore: [ServerCommand] = []
  /// What is done to the connection after it.
  var commandsAfter: [ServerCommand] = []
  /// The statuses that say that the request is accepted.
  private let acceptedStatuses: [Int]

  /// The plain consequence of a verdict on a request.
  init(_ verdict: Verdict, on request: PushRequest, ids: inout MessageIDs) {
    status = verdict.status
    acceptedStatuses = request.acceptedStatuses
    reason = verdict.rejection?.reason.rawValue
    timestamp = verdict.rejection?.timestamp
    if verdict.isAccepted {
      channelID = verdict.success.channelID
      if !verdict.success.body.isEmpty { body = verdict.success.body }
    }
    if request.hasRequestID {
      requestID = verdict.requestID ?? ids.next()
    } else {
      messageID = verdict.messageID ?? ids.next()
    }
    let isBroadcast = request.hasRequestID && !request.role.managesChannels
    let isPushInDevelopment = !request.hasRequestID && request.environment == .development
    if isBroadcast || isPushInDevelopment { uniqueID = ids.next() }
  }

  /// Whether the client gets a status at all.
  var hasStatus: Bool { outcome == .answer || outcome == .fieldsOnly }

  /// Whether the client gets 200, or what stands for it at its call.
  var isAccepted: Bool { outcome == .answer && acceptedStatuses.contains(status) }

  /// The word under which the request is counted; nil: accepted.
  var outcomeWord: String? {
    switch outcome {
    case .answer: acceptedStatuses.contains(status) ? nil : reason ?? "status \(status)"
    case .fieldsOnly: "withheld"
    case .reset: "reset"
    case .silence: "silence"
    }
  }

  /// Writes the decision into a server's reply.
  func fill(_ reply: inout ServerReply) {
    reply.outcome = outcome
    reply.status = status
    reply.delay = delay
    reply.heldUntilRequest = heldUntilRequest
    reply.commandsBefore = commandsBefore
    reply.commandsAfter = commandsAfter
    if let messageID { reply.addField("apns-id", messageID) }
    if let requestID { reply.addField("apns-request-id", requestID) }
    if let channelID { reply.addField("apns-channel-id", channelID) }
    if let uniqueID { reply.addField("apns-unique-id", uniqueID) }
    reply.body = body ?? reasonBody
    if !reply.body.isEmpty, fields["content-type"] == nil { reply.addField("content-type", "application/json") }
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) { reply.addField(named: name, value) }
  }

  private var reasonBody: [UInt8] {
    guard let reason else { return [] }
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("reason", reason)
      if let timestamp { writer.member("timestamp", timestamp.value) }
    }
    return writer.bytes
  }
}
