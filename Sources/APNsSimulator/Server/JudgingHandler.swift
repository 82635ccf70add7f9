import HTTP2
import Operations

/// Judges each request by the rules, logs it, counts it, and answers as APNs would.
final class JudgingHandler: ServerHandler {
  /// What APNs allows a connection once it has accepted a request with a provider token.
  static let raisedStreamLimit: UInt32 = 1000

  private var rules: RequestRules
  private let checks: Bool
  private let answerDelay: Duration
  private let environments: [Environment]
  private let ledger: Lock<Ledger>
  private var log: RequestLog?
  private let clocks: any Clocks
  private let diagnose: @Sendable (String) -> Void
  private var messageIDs = MessageIDs()
  /// The connections whose stream limit has been raised.
  private var trusted: Set<UInt64> = []

  init(_ configuration: SimulatorConfiguration, ledger: Lock<Ledger>, log: RequestLog?, clocks: any Clocks) {
    rules = configuration.rules
    checks = configuration.checks
    answerDelay = configuration.answerDelay
    environments = configuration.listeners.map(\.environment)
    diagnose = configuration.diagnose
    self.ledger = ledger
    self.log = log
    self.clocks = clocks
  }

  func connectionOpened(_ connection: UInt64) { ledger.withLock { $0.connectionOpened() } }

  func connectionClosed(_ connection: UInt64) { trusted.remove(connection) }

  func violated(_ violation: ServerViolation, connection: UInt64) {
    ledger.withLock { $0.violated(Violation(violation)) }
  }

  func received(_ received: ServerRequest, reply: inout ServerReply) {
    let now = clocks.wallTime()
    let request = PushRequest(received, environment: environments[received.listener])
    let verdict = checks ? rules.judge(request, now: now) : Verdict(unchecked: request)
    var decision = Decision(verdict, messageID: verdict.messageID ?? messageIDs.next())
    if request.environment == .development { decision.uniqueID = messageIDs.next() }
    decision.delay = answerDelay
    if checks, decision.isAccepted, trusted.insert(received.connection).inserted {
      decision.commandsBefore.append(.settings([.maxConcurrentStreams(Self.raisedStreamLimit)]))
    }
    decision.fill(&reply)
    count(request, received, verdict, decision)
    record(LogEntry(request: request, received: received, verdict: verdict, decision: decision, receivedAt: now))
  }

  private func count(
    _ request: PushRequest, _ received: ServerRequest, _ verdict: Verdict, _ decision: Decision
  ) {
    let device = verdict.deviceToken.flatMap { $0.isEmpty ? nil : $0 }
    let entry = LedgerEntry(
      device: device.map { Fingerprint.of(Array($0.utf8).span, foldingCase: true) },
      providerToken: request.value("authorization").map { Fingerprint.of($0.span, foldingCase: false) },
      messageID: verdict.messageID.flatMap { Fingerprint.uuid(Array($0.utf8).span) },
      openStreams: received.openStreams, outcome: decision.outcomeWord)
    let mintsTooOften = verdict.rejection?.reason == .tooManyProviderTokenUpdates
    ledger.withLock { ledger in
      ledger.record(entry)
      if mintsTooOften { ledger.violated(.providerTokenUpdates) }
    }
  }

  private func record(_ entry: LogEntry) {
    guard let log else { return }
    do {
      try log.append(entry.line)
    } catch {
      diagnose("\(error); requests are logged no longer")
      self.log = nil
    }
  }
}

extension PushRequest {
  /// A request as the server received it.
  init(_ request: ServerRequest, environment: Environment) {
    var method = ""
    var scheme = ""
    var path = ""
    var fields: [Field] = []
    request.forEachField { nameBytes, valueBytes in
      let name = String(decoding: Array(copying: nameBytes), as: UTF8.self)
      let field = Field(name: name, value: Array(copying: valueBytes))
      switch name {
      case ":method": method = field.text
      case ":scheme": scheme = field.text
      case ":path": path = field.text
      default: fields.append(field)
      }
    }
    self.init(
      environment: environment, method: method, scheme: scheme, path: path, fields: fields, body: request.body,
      bodyByteCount: request.bodyByteCount)
  }
}

extension Verdict {
  /// What is known of a request that no rule is applied to.
  init(unchecked request: PushRequest) {
    deviceToken = RequestTarget.deviceToken(in: request.path)
    messageID = request.text("apns-id").flatMap { HeaderRules.isUUID($0) ? $0 : nil }
  }
}

extension [UInt8] {
  /// The bytes of a span.
  fileprivate init(copying bytes: Span<UInt8>) {
    self.init(capacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }
}
