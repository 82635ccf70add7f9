import JSON

// The file and its rules.
extension ScriptReader {
  mutating func script(_ document: JSONValue) -> FaultScript? {
    var script = FaultScript()
    for member in members(document, known: ["comment", "seed", "rules"]) {
      switch member.name {
      case "seed": script.seed = integer(member.value, 0...Int.max).map(UInt64.init) ?? 0
      case "rules":
        guard let rules = member.value.array else {
          mismatch(member.value, "an array of rules")
          continue
        }
        script.rules = rules.map { rule($0) }
      default: break
      }
    }
    return script
  }

  private mutating func rule(_ value: JSONValue) -> FaultRule {
    var rule = FaultRule()
    let members = members(value, known: ["comment", "at", "match", "limit", "do"])
    if let at = members.first(where: { $0.name == "at" }) { rule.moment = word(at.value) ?? .request }
    for member in members {
      switch member.name {
      case "match": rule.match = match(member.value, rule.moment)
      case "limit": rule.limit = integer(member.value, 1...1_000_000_000)
      case "do": rule.effect = effect(member.value, rule.moment)
      default: break
      }
    }
    return rule
  }

  private mutating func match(_ value: JSONValue, _ moment: FaultMoment) -> FaultMatch {
    let counted = 1...1_000_000_000
    let both = [moment == .request ? "request" : "connection", "from", "until", "every", "probability"]
    let own = moment == .request ? ["token", "topic", "token_request", "connection", "connection_request"] : ["storm"]
    var match = FaultMatch()
    for member in members(value, known: both + own) {
      let value = member.value
      switch member.name {
      case "connection" where moment == .request: match.connection = integer(value, counted)
      case "request", "connection": match.number = integer(value, counted)
      case "from": match.from = integer(value, counted)
      case "until": match.until = integer(value, counted)
      case "every": match.every = integer(value, counted)
      case "token_request": match.tokenRequest = integer(value, counted)
      case "connection_request": match.connectionRequest = integer(value, counted)
      case "token": match.deviceToken = string(value)?.lowercased()
      case "topic": match.topic = string(value)
      case "probability": match.probability = probability(value)
      case "storm": match.storm = storm(value)
      default: break
      }
    }
    if let from = match.from, let until = match.until, from > until {
      fault(value, "nothing is from \(from) until \(until)")
    }
    return match
  }

  private mutating func probability(_ value: JSONValue) -> Double? {
    if let share = value.number?.double, (0...1).contains(share) { return share }
    mismatch(value, "a number from 0 to 1")
    return nil
  }

  private mutating func storm(_ value: JSONValue) -> ConnectStorm {
    var storm = ConnectStorm(connections: 10, within: .seconds(10))
    for member in members(value, known: ["connections", "within"]) {
      if member.name == "within" {
        storm.within = duration(member.value) ?? storm.within
      } else {
        storm.connections = integer(member.value, 1...10_000) ?? storm.connections
      }
    }
    return storm
  }

  private mutating func effect(_ value: JSONValue, _ moment: FaultMoment) -> FaultEffect {
    var effect = FaultEffect()
    let possible = FaultAction.all.filter { $0.moments.contains(moment) }.map(\.name)
    for member in members(value, known: FaultAction.all.map(\.name)) {
      guard possible.contains(member.name) else {
        let other = moment == .request ? "\"at\": \"connection\"" : "a rule without \"at\""
        fault(at: member.nameRange.lowerBound, "'\(member.name)' is possible only in \(other)")
        continue
      }
      FaultAction.named(member.name)?.read(member.value, &self, &effect)
    }
    if let reason = effect.reason, effect.status == nil {
      effect.status = Reason.status(of: reason)
      if effect.status == nil { fault(value, "a reason that is not Apple's needs a status") }
    }
    if effect.neverAnswers || !effect.resets.isEmpty, effect.status != nil || effect.withholdsBody {
      fault(value, "an answer and none exclude each other: drop never_answer and rst_stream, or what makes the answer")
    }
    return effect
  }
}
