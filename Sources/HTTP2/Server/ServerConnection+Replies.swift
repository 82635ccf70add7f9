import EventLoop

// From requests to what becomes of them.
extension ServerConnection {
  /// Gives what came in to the handler, and its replies to the session.
  func answer(_ session: NGHTTP2ServerSession) {
    if !session.begun.isEmpty { answerEarly(session) }
    guard !session.complete.isEmpty else { return }
    let requests = session.complete
    session.complete.removeAll(keepingCapacity: true)
    for request in requests { answer(request, session) }
  }

  private func answerEarly(_ session: NGHTTP2ServerSession) {
    let requests = session.begun
    session.begun.removeAll(keepingCapacity: true)
    for request in requests where session.isReceiving(request) && server.handler.answersEarly(request) {
      session.take(request)
      answer(request, session)
    }
  }

  private func answer(_ request: ServerRequest, _ session: NGHTTP2ServerSession) {
    // A request before it in the same read may have brought about a GOAWAY.
    guard session.takesUp(request.stream) else { return session.submitOutcome(of: request) }
    if request.headerListByteCount > session.headerListLimit {
      request.reply.status = 431
      server.handler.violated(.headerListSize, connection: id)
    } else {
      requestCount += 1
      server.handler.received(request, reply: &request.reply)
      unsafe request.slot.pointee.state = .replied
    }
    if request.reply.heldUntilRequest > requestCount {
      held.append(request)
    } else {
      performOnTime(request, session)
    }
    if !held.isEmpty { releaseHeld(session) }
  }

  private func releaseHeld(_ session: NGHTTP2ServerSession) {
    let due = held.filter { $0.reply.heldUntilRequest <= requestCount }
    held.removeAll { $0.reply.heldUntilRequest <= requestCount }
    for request in due { performOnTime(request, session) }
  }

  private func performOnTime(_ request: ServerRequest, _ session: NGHTTP2ServerSession) {
    guard request.reply.delay > .zero else { return perform(request, session) }
    // `waiting` keeps the object from being used for another stream until the timer has fired.
    server.loop.schedule(after: request.reply.delay) { [weak self] in self?.performLate(request) }
  }

  private func performLate(_ request: ServerRequest) {
    guard phase == .open, let session else { return }
    perform(request, session)
    server.flushAtEndOfTurn(self)
  }

  private func perform(_ request: ServerRequest, _ session: NGHTTP2ServerSession) {
    // The reply is cleared when the object is free again, which may be within the second line.
    let after = request.reply.commandsAfter
    for command in request.reply.commandsBefore { perform(command, session) }
    session.submitOutcome(of: request)
    for command in after { perform(command, session) }
  }

  /// Does something to the connection and writes what comes of it. False when it is not open.
  @discardableResult
  func perform(_ commands: [ServerCommand]) -> Bool {
    guard phase == .open, let session else { return false }
    for command in commands { perform(command, session) }
    flush()
    return true
  }

  private func perform(_ command: ServerCommand, _ session: NGHTTP2ServerSession) {
    switch command {
    case .settings(let settings): session.submit(settings: settings)
    case .goAway(let lastStream, let errorCode, let debugData, let drains):
      session.submitGoAway(lastStream: lastStream, errorCode: errorCode, debugData: debugData, drains: drains)
      for request in session.leftOut { server.handler.leftOut(request, reply: request.reply) }
    case .reset(let stream, let errorCode): session.submitReset(stream: stream, errorCode: errorCode)
    case .ping: session.submitPing()
    case .close: finish()
    case .abandon(let reset):
      ending = reset ? .reset : .fin
      finish()
    case .fallSilent: fallSilent()
    case .later(let delay, let commands):
      server.loop.schedule(after: delay) { [weak self] in self?.perform(commands) }
    }
  }
}
