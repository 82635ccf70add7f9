import HTTP2
import OpenSSL
import Operations

/// Judges each request by the rules, lets the script spoil it, logs it, counts it, and answers.
final class JudgingHandler: ServerHandler {
  /// What APNs allows a connection once it has accepted a request with a provider token.
  static let raisedStreamLimit: UInt32 = 1000

  private var rules: RequestRules
  private var faults: FaultInjector
  private var tls: TLSContexts
  private var retries = RetryWatch()
  /// Kept for those who can ask for it.
  private var deliveries: DeliveryStore?
  private let checks: Bool
  private let answerDelay: Duration
  private let roles: [ListenerRole]
  private let ledger: Lock<Ledger>
  private var log: RequestLog?
  private let clocks: any Clocks
  private let diagnose: @Sendable (String) -> Void
  private var messageIDs: MessageIDs
  /// The connections whose stream limit is not raised any more: it has been, or the script has set it.
  private var trusted: Set<UInt64> = []
  private var bindings: [UInt64: ConnectionBinding] = [:]

  init(
    _ configuration: SimulatorConfiguration, tls: TLSContexts, ledger: Lock<Ledger>, log: RequestLog?,
    clocks: any Clocks
  ) {
    self.tls = tls
    rules = configuration.rules
    faults = FaultInjector(configuration.script)
    messageIDs = MessageIDs(isLowerCase: configuration.rules.knobs.makesLowerCaseIDs)
    checks = configuration.checks
    deliveries = configuration.control == nil ? nil : DeliveryStore()
    answerDelay = configuration.answerDelay
    roles = configuration.listeners.map(\.role)
    diagnose = configuration.diagnose
    self.ledger = ledger
    self.log = log
    self.clocks = clocks
  }

  func greeting(for connection: UInt64, listener: Int) -> ServerGreeting {
    var (greeting, fault) = faults.greeting(for: connection, now: clocks.monotonicTime())
    if greeting.settings.contains(where: \.isStreamLimit) { trusted.insert(connection) }
    guard fault != TLSFault() else { return greeting }
    greeting.isTLSBad = fault.isBad
    do {
      greeting.tls = try tls.context(fault)
    } catch {
      diagnose("\(error); a connection is refused for that")
      greeting.refuses = true
    }
    return greeting
  }

  func identified(
    _ connection: UInt64, listener: Int, by certificate: PeerCertificate, greeting: inout ServerGreeting
  ) {
    guard checks else { return }
    bindings[connection] = ConnectionBinding(certificate: certificate)
    do throws(Rejection) {
      try certificate.check(roles[listener].environment)
      // With a certificate there is nothing to wait for.
      guard trusted.insert(connection).inserted else { return }
      greeting.settings.append(.maxConcurrentStreams(Self.raisedStreamLimit))
    } catch {
      guard error.reason == .badCertificateEnvironment else { return }
      let debugData = Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8)
      // Closing at once could overtake the GOAWAY on its way to a client that is writing.
      greeting.commands = [
        .goAway(lastStream: 0, errorCode: 0, debugData: debugData, drains: false), .later(.seconds(1), [.close]),
      ]
    }
  }

  func connectionOpened(_ connection: UInt64) {
    let now = clocks.monotonicTime()
    ledger.withLock { $0.connectionOpened(at: now) }
  }

  func connectionClosed(_ connection: UInt64) {
    trusted.remove(connection)
    bindings[connection] = nil
    faults.connectionClosed(connection)
    let now = clocks.monotonicTime()
    ledger.withLock { $0.connectionClosed(at: now) }
  }

  func opened(streams: Int, connection: UInt64) { ledger.withLock { $0.opened(streams: streams) } }

  func violated(_ violation: ServerViolation, connection: UInt64) {
    ledger.withLock { $0.violated(Violation(violation)) }
  }

  func answersEarly(_ received: ServerRequest) -> Bool {
    faults.answersEarly && faults.answersEarly(request(received), connection: received.connection)
  }

  func received(_ received: ServerRequest, reply: inout ServerReply) {
    let request = request(received)
    let fault = faults.take(request, connection: received.connection)
    if let fault { change(fault.effect) }
    let receivedAt = clocks.wallTime()
    let now = virtualTime(receivedAt)
    let verdict = checks ? judge(request, on: received.connection, now: now) : Verdict(unchecked: request)
    var decision = Decision(verdict, on: request, ids: &messageIDs)
    decision.delay = answerDelay
    if let fault {
      decision.rule = fault.index + 1
      decision.apply(fault.effect, stream: received.stream, now: now)
    }
    raiseStreamLimit(received.connection, &decision)
    decision.fill(&reply)
    // RFC 9110 section 9.3.2: the fields of the answer, and no content.
    if request.method == "HEAD" { reply.body = [] }
    count(request, received, verdict, decision, at: receivedAt)
    if decision.isAccepted { deliver(request, verdict, decision, at: now) }
    record(LogEntry(request: request, received: received, verdict: verdict, decision: decision, receivedAt: receivedAt))
  }

  func leftOut(_ received: ServerRequest, reply: ServerReply) {
    let request = request(received)
    retries.leftOut(PushIdentity(request, Verdict(unchecked: request)))
    if reply.outcome == .answer, request.acceptedStatuses.contains(reply.status) { ledger.withLock { $0.leftOut() } }
  }

  private func virtualTime(_ time: UnixMilliseconds) -> UnixMilliseconds {
    UnixMilliseconds(time.value + faults.clockOffset.wholeMilliseconds)
  }

  private func judge(_ request: PushRequest, on connection: UInt64, now: UnixMilliseconds) -> Verdict {
    rules.judge(request, on: &bindings[connection, default: ConnectionBinding()], now: now)
  }

  private func request(_ received: ServerRequest) -> PushRequest {
    PushRequest(received, role: roles[received.listener])
  }

  /// What a rule changes for this request and all later ones.
  private func change(_ effect: FaultEffect) {
    for change in effect.credentials {
      switch change {
      case .revoke(let keyID): rules.providerTokens.revoke(keyID: keyID)
      case .removeTopic(let topic, let keyID): rules.topics.remove(topic, keyID: keyID)
      case .environment(let environment, let keyID): rules.providerTokens.limit(keyID: keyID, to: environment)
      case .broadcast(let isOn, let bundleID): rules.channels.setCapability(isOn, of: bundleID)
      }
    }
  }

  private func raiseStreamLimit(_ connection: UInt64, _ decision: inout Decision) {
    let isSet = decision.commandsBefore.contains { command in
      if case .settings(let settings) = command { settings.contains(where: \.isStreamLimit) } else { false }
    }
    if isSet { trusted.insert(connection) }
    guard checks, decision.isAccepted, trusted.insert(connection).inserted else { return }
    decision.commandsBefore.append(.settings([.maxConcurrentStreams(Self.raisedStreamLimit)]))
  }

  private func count(
    _ request: PushRequest, _ received: ServerRequest, _ verdict: Verdict, _ decision: Decision,
    at now: UnixMilliseconds
  ) {
    let push = PushIdentity(request, verdict)
    let entry = LedgerEntry(
      device: push.device, providerToken: push.providerToken, messageID: push.messageID,
      wasLeftOut: retries.takeLeftOut(push), outcome: decision.outcomeWord)
    var violations = entry.wasLeftOut ? [] : retries.violations(of: push, isAccepted: decision.isAccepted, now: now)
    if verdict.rejection?.reason == .tooManyProviderTokenUpdates { violations.append(.providerTokenUpdates) }
    if decision.outcome == .answer {
      retries.answered(
        push, status: decision.status, reason: decision.reason, retryAfter: decision.retryAfter, now: now)
    }
    ledger.withLock { [violations] ledger in
      ledger.record(entry)
      for violation in violations { ledger.violated(violation) }
    }
  }

  private func deliver(_ request: PushRequest, _ verdict: Verdict, _ decision: Decision, at now: UnixMilliseconds) {
    guard let deviceToken = verdict.deviceToken?.lowercased(), let topic = verdict.topic,
      let messageID = decision.messageID
    else { return }
    let push = AcceptedPush(
      environment: request.environment, deviceToken: deviceToken, topic: topic, messageID: messageID,
      uniqueID: decision.uniqueID, expiration: request.text("apns-expiration").flatMap { Int64($0) }, acceptedAt: now)
    deliveries?.accept(push, isOffline: rules.devices[deviceToken] == .offline, now: now)
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

// What can be asked and changed while it runs; on the loop's thread.
extension JudgingHandler {
  /// How often each rule of the script has been used.
  var ruleUses: [Int] { faults.ruleUses }

  /// Begins another script; numbers of requests and connections go on.
  func replaceScript(_ script: FaultScript) { faults.replace(script) }

  /// Sets the fate of a device token.
  func setDevice(_ deviceToken: String, _ state: DeviceState) {
    rules.devices[deviceToken] = state
    if state == .ok { deliveries?.comesOnline(deviceToken.lowercased(), now: virtualTime(clocks.wallTime())) }
  }

  /// What became of accepted pushes, oldest first.
  var deliveryLog: [Delivery] { deliveries?.log ?? [] }

  /// Counts from zero: in the ledger, in the conditions of the script, and what is known of earlier pushes.
  func reset() {
    ledger.withLock { $0 = Ledger() }
    retries = RetryWatch()
    deliveries?.reset()
    faults.reset()
  }

  /// The environment that a listener stands for.
  func environment(ofListener listener: Int) -> Environment { roles[listener].environment }
}

extension ServerSetting {
  /// Whether it is SETTINGS_MAX_CONCURRENT_STREAMS.
  fileprivate var isStreamLimit: Bool { identifier == SettingName.maxConcurrentStreams.identifier }
}

extension PushIdentity {
  init(_ request: PushRequest, _ verdict: Verdict) {
    let deviceToken = verdict.deviceToken.flatMap { $0.isEmpty ? nil : $0 }
    device = deviceToken.map { Fingerprint.of(Array($0.utf8).span, foldingCase: true) }
    providerToken = request.value("authorization").map { Fingerprint.of($0.span, foldingCase: false) }
    collapseID = request.value("apns-collapse-id").map { Fingerprint.of($0.span, foldingCase: false) }
    messageID = verdict.messageID.flatMap { Fingerprint.uuid(Array($0.utf8).span) }
  }
}
