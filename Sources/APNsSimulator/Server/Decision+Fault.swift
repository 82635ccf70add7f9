import HTTP2
import Operations

extension Decision {
  /// How long the answer asks the client to wait; nil: it does not, or not in seconds, or for longer than a year.
  var retryAfter: Duration? {
    guard let seconds = fields["retry-after"].flatMap({ Int64($0) }), (1...31_536_000).contains(seconds) else {
      return nil
    }
    return .seconds(seconds)
  }

  /// Does what a rule of the script says in place of the rules' consequence.
  mutating func apply(_ effect: FaultEffect, stream: Int32, now: UnixMilliseconds) {
    applyAnswer(effect, now: now)
    applyOutcome(effect, stream: stream)
    if !effect.settings.isEmpty { commandsBefore.append(.settings(effect.settings)) }
    for goAway in effect.goAways { apply(goAway, stream: stream) }
    if effect.pings { commandsAfter.append(.ping) }
    if effect.fallsSilent { commandsAfter.append(.fallSilent) }
    switch effect.close {
    case .tls: commandsAfter.append(.close)
    case .fin: commandsAfter.append(.abandon(reset: false))
    case .reset: commandsAfter.append(.abandon(reset: true))
    case nil: break
    }
  }

  private mutating func applyAnswer(_ effect: FaultEffect, now: UnixMilliseconds) {
    if let status = effect.status {
      self.status = status
      reason = effect.reason
      if !(200...299).contains(status) { (body, channelID) = (nil, nil) }
      timestamp = status == 410 ? now : nil
    }
    switch effect.timestamp {
    case .absent: timestamp = nil
    case .at(let time): timestamp = UnixMilliseconds(time)
    case .relative(let milliseconds): timestamp = UnixMilliseconds(now.value + milliseconds)
    case nil: break
    }
    if let body = effect.body { self.body = body }
    fields = effect.fields
    switch effect.messageID {
    case .absent: (messageID, requestID) = (nil, nil)
    case .text(let text): if requestID == nil { messageID = text } else { requestID = text }
    case nil: break
    }
    if let delay = effect.delay { self.delay = delay }
    if let request = effect.heldUntilRequest { heldUntilRequest = request }
  }

  private mutating func applyOutcome(_ effect: FaultEffect, stream: Int32) {
    if effect.withholdsBody { outcome = .fieldsOnly }
    if effect.neverAnswers || effect.fallsSilent { outcome = .silence }
    if let code = effect.resets.first { outcome = .reset(errorCode: code) }
    for code in effect.resets.dropFirst() { commandsAfter.append(.reset(stream: stream, errorCode: code)) }
    if let code = effect.resetAfterAnswer { commandsAfter.append(.reset(stream: stream, errorCode: code)) }
  }

  private mutating func apply(_ goAway: FaultEffect.GoAway, stream: Int32) {
    let commands = goAway.commands(stream: stream)
    // Before the answer, so that a stream above the last one gets none.
    if goAway.after > .zero {
      commandsBefore.append(.later(goAway.after, commands))
    } else {
      commandsBefore.append(commands[0])
      commandsAfter += commands.dropFirst()
    }
  }
}

extension FaultEffect.GoAway {
  /// The frame, and the end of the connection when that comes at once. `stream` is that of the request.
  func commands(stream: Int32?) -> [ServerCommand] {
    let last: Int32? =
      switch lastStream {
      case .lastTakenUp: nil
      case .this: stream
      case .number(let number): number
      }
    let frame = ServerCommand.goAway(
      lastStream: last, errorCode: errorCode, debugData: debugData, drains: ending == .drain)
    return ending == .close ? [frame, .close] : [frame]
  }
}
