import HTTP2
import Operations

/// Lets a script loose on connections and requests: numbers them and finds the rule for each.
struct FaultInjector {
  /// So many beginnings of connections are remembered for storms.
  private static let rememberedConnects = 10_000

  private var script: RunningScript
  /// Whether any rule answers before a body is there.
  private(set) var answersEarly: Bool
  /// What the script added to the clock so far.
  private(set) var clockOffset = Duration.zero
  private var requests = 0
  private var requestsOfConnection: [UInt64: Int] = [:]
  private var requestsOfDevice: [UInt64: Int] = [:]
  private var connects: [MonotonicTime] = []

  init(_ script: FaultScript) {
    self.script = RunningScript(script)
    answersEarly = script.rules.contains(where: \.effect.isEarly)
  }

  var ruleUses: [Int] { script.uses }

  /// Begins another script; the numbers go on.
  mutating func replace(_ script: FaultScript) {
    self.script = RunningScript(script)
    answersEarly = script.rules.contains(where: \.effect.isEarly)
  }

  /// Numbers requests from 1 again and makes every rule unused; connections keep their numbers.
  mutating func reset() {
    script.reset()
    requests = 0
    requestsOfDevice = [:]
  }

  /// How a new connection is treated, but for its TLS, which stands beside it.
  mutating func greeting(for connection: UInt64, now: MonotonicTime) -> (greeting: ServerGreeting, tls: TLSFault) {
    guard !script.isEmpty else { return (ServerGreeting(), TLSFault()) }
    if connects.count >= Self.rememberedConnects { connects.removeFirst(Self.rememberedConnects / 2) }
    connects.append(now)
    var facts = FaultFacts(moment: .connection, number: Int(connection), connection: Int(connection))
    facts.connections = { [connects] time in connects.count { now.since($0) <= time } }
    guard let effect = script.take(facts)?.effect else { return (ServerGreeting(), TLSFault()) }
    var greeting = ServerGreeting()
    greeting.refuses = effect.refuses
    greeting.handshakeDelay = effect.handshakeDelay ?? .zero
    greeting.settingsDelay = effect.sendsNoSettings ? nil : effect.settingsDelay ?? .zero
    greeting.settings = effect.settings
    greeting.updatesWindows = effect.updatesWindows
    greeting.fallsSilent = effect.fallsSilent
    return (greeting, effect.tls)
  }

  mutating func connectionClosed(_ connection: UInt64) { requestsOfConnection[connection] = nil }

  /// Whether the rule for the next request answers before its body is there.
  func answersEarly(_ request: PushRequest, connection: UInt64) -> Bool {
    script.match(facts(request, connection))?.effect.isEarly ?? false
  }

  /// The rule for a request, which is used by this.
  mutating func take(_ request: PushRequest, connection: UInt64) -> (index: Int, effect: FaultEffect)? {
    guard !script.isEmpty else {
      requests += 1
      requestsOfConnection[connection, default: 0] += 1
      return nil
    }
    let facts = facts(request, connection)
    requests = facts.number
    requestsOfConnection[connection] = facts.connectionRequest
    // Without a script these numbers would only cost memory.
    if let device = device(request) { requestsOfDevice[device] = facts.tokenRequest }
    let match = script.take(facts)
    if let offset = match?.effect.clockOffset { clockOffset = offset }
    return match
  }

  private func facts(_ request: PushRequest, _ connection: UInt64) -> FaultFacts {
    FaultFacts(
      moment: .request, number: requests + 1,
      tokenRequest: device(request).map { requestsOfDevice[$0, default: 0] + 1 } ?? 0,
      connectionRequest: requestsOfConnection[connection, default: 0] + 1, connection: Int(connection),
      deviceToken: request.target?.deviceToken, topic: request.target?.bundleID ?? request.text("apns-topic"))
  }

  private func device(_ request: PushRequest) -> UInt64? {
    request.target?.deviceToken.map { Fingerprint.of(Array($0.utf8).span, foldingCase: true) }
  }
}
