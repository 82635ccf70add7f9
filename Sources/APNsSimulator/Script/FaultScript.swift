/// What goes wrong and when: the rules of a `--script` file.
///
/// For each new connection and for each request the first rule that matches decides, and no other.
public struct FaultScript: Sendable {
  /// What the draws of rules with a probability depend on; the same seed gives the same faults for the same requests.
  public var seed: UInt64 = 0
  /// The rules in their order.
  public var rules: [FaultRule] = []

  /// A script without rules: nothing goes wrong.
  public init() {}
}

/// When a rule is looked at.
public enum FaultMoment: String, Sendable, Equatable, CaseIterable {
  /// As a connection is accepted.
  case connection
  /// As a request has been received.
  case request
}

/// One rule of a script.
public struct FaultRule: Sendable {
  /// When it is looked at.
  public var moment = FaultMoment.request
  /// What has to hold.
  public var match = FaultMatch()
  /// How many times it may be used; nil: without end.
  public var limit: Int?
  /// What is done.
  public var effect = FaultEffect()

  /// A rule that matches every request and does nothing.
  public init() {}
}

/// The conditions of a rule; all that are set have to hold. Numbers count from 1.
public struct FaultMatch: Sendable, Equatable {
  /// The number of the request, or of the connection.
  var number: Int?
  /// Its first and last number.
  var from: Int?
  var until: Int?
  /// Every so many of them.
  var every: Int?
  /// The number of the request among those for its device token.
  var tokenRequest: Int?
  /// The number of the request among those of its connection.
  var connectionRequest: Int?
  /// The number of the connection that the request came on.
  var connection: Int?
  /// The device token, in lower case.
  var deviceToken: String?
  /// The topic, or the app in the path of a broadcast or of a call about channels.
  var topic: String?
  /// The share of those that match otherwise.
  var probability: Double?
  /// More connections than that within a time.
  var storm: ConnectStorm?

  /// Conditions that everything fulfills.
  public init() {}
}

/// Many connections in a short time.
public struct ConnectStorm: Sendable, Equatable {
  /// So many are no storm yet.
  var connections: Int
  /// The time that they are counted over.
  var within: Duration
}

/// What a rule may look at.
struct FaultFacts {
  var moment: FaultMoment
  /// The number of the request, or of the connection.
  var number: Int
  var tokenRequest = 0
  var connectionRequest = 0
  var connection: Int
  var deviceToken: String?
  var topic: String?
  /// How many connections came within a time, this one included.
  var connections: (Duration) -> Int = { _ in 0 }
}

/// A script on its way: how often each rule has been used.
struct RunningScript {
  private let script: FaultScript
  private(set) var uses: [Int]

  init(_ script: FaultScript) {
    self.script = script
    uses = Array(repeating: 0, count: script.rules.count)
  }

  /// Whether there is nothing to look for.
  var isEmpty: Bool { script.rules.isEmpty }

  /// The first rule that matches, by its place in the file from 0; it is not used by this.
  func match(_ facts: FaultFacts) -> (index: Int, effect: FaultEffect)? {
    for (index, rule) in script.rules.enumerated() where rule.moment == facts.moment {
      if let limit = rule.limit, uses[index] >= limit { continue }
      if rule.match.holds(facts), draws(rule.match.probability, index, facts.number) { return (index, rule.effect) }
    }
    return nil
  }

  /// Uses the first rule that matches.
  mutating func take(_ facts: FaultFacts) -> (index: Int, effect: FaultEffect)? {
    guard let match = match(facts) else { return nil }
    uses[match.index] += 1
    return match
  }

  /// Makes every rule unused again.
  mutating func reset() { uses = Array(repeating: 0, count: uses.count) }

  /// A draw that depends on the seed, the rule and the number alone, so that looking does not change it.
  private func draws(_ probability: Double?, _ index: Int, _ number: Int) -> Bool {
    guard let probability else { return true }
    let input = [script.seed, UInt64(index), UInt64(number)].flatMap { word in
      (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
    }
    return Double(Fingerprint.of(input.span, foldingCase: false) >> 11) / 0x1p53 < probability
  }
}

extension FaultMatch {
  func holds(_ facts: FaultFacts) -> Bool {
    if let number, facts.number != number { return false }
    if let from, facts.number < from { return false }
    if let until, facts.number > until { return false }
    if let every, !facts.number.isMultiple(of: every) { return false }
    if let tokenRequest, facts.tokenRequest != tokenRequest { return false }
    if let connectionRequest, facts.connectionRequest != connectionRequest { return false }
    if let connection, facts.connection != connection { return false }
    if let deviceToken, facts.deviceToken?.lowercased() != deviceToken { return false }
    if let topic, facts.topic != topic { return false }
    if let storm, facts.connections(storm.within) <= storm.connections { return false }
    return true
  }
}
