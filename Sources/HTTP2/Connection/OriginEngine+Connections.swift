import Operations

// The connections of an origin: what becomes of them, and what that means for requests.

extension OriginEngine {
  func connection(_ number: UInt32) -> ClientConnection? { connections.first { $0.number == number } }

  func connect() {
    let number = engine.takeConnectionNumber()
    let connection = ClientConnection(number: number, origin: self, loop: engine.loop, input: engine.input)
    connections.append(connection)
    pool.began(number)
    connection.start(timeout: engine.configuration.connectTimeout)
  }

  func connected(_ connection: ClientConnection) {
    guard let session = connection.session else { return }
    pool.ready(connection.number, limit: session.streamLimit, now: now)
    tell(connection, .connected(peer: connection.peer, tls: connection.tlsSummary))
    tellWaiters(nil)
    engine.markDirty(connection)
    fill()
  }

  func failedToConnect(_ connection: ClientConnection, _ failure: HTTP2Failure) {
    connections.removeAll { $0 === connection }
    pool.failed(connection.number, now: now, random: Double.random(in: 0..<1))
    record(failure)
    tell(connection, .connectFailed(lastFailure ?? failure))
    fill()
  }

  /// Something may have changed on an open connection: streams ended, SETTINGS or GOAWAY came, time went by.
  func progressed(_ connection: ClientConnection) {
    guard let session = connection.session else { return }
    if session.answered > 0 { pool.proved() }
    if let goAway = session.goAway, session.goAwayIsNew {
      session.goAwayIsNew = false
      tell(connection, .goaway(code: goAway.code, text: goAway.text))
      drain(connection, goAway.summary)
    }
    let configuration = engine.configuration
    if connection.drainDeadline == nil,
      let complaint = session.health.complaint(
        timeoutLimit: configuration.timeoutsBeforeReplacement,
        serverErrorLimit: configuration.serverErrorsBeforeReplacement), pool.mayReplace(now: now)
    {
      drain(connection, complaint)
    }
    observe(connection, session)
    if !session.refused.isEmpty { pool.refused(connection.number, open: session.openStreams, now: now) }
    if session.settingsAreNew {
      session.settingsAreNew = false
      pool.limitAnnounced(connection.number)
    }
    takeBack(session)
    if connection.drainDeadline != nil, session.openStreams == 0 {
      connection.finish(session.goAway.map { HTTP2Failure(.goaway, endpoint: endpoint, reason: $0.summary) })
    }
    fill()
  }

  /// An established connection is gone; its requests have ended or come back.
  func ended(_ connection: ClientConnection, _ session: ClientSession, _ failure: HTTP2Failure?) {
    connections.removeAll { $0 === connection }
    let end: ConnectionPool.End =
      if failure == nil, session.goAway == nil {
        .intended
      } else if session.answered == 0 {
        // A GOAWAY before the first answer is the peer's refusal, however orderly it went.
        .unanswered
      } else {
        session.goAway == nil ? .broken : .goAway
      }
    let early = pool.ended(connection.number, end, now: now, random: Double.random(in: 0..<1))
    if early {
      record(failure ?? refusal(session))
    } else if let failure {
      lastFailure = failure
    }
    tell(connection, .closed(failure))
    takeBack(session)
    fill()
  }

  /// A connection was given up before it was established.
  func canceled(_ connection: ClientConnection) {
    connections.removeAll { $0 === connection }
    _ = pool.ended(connection.number, .intended, now: now, random: 0)
    tell(connection, .closed(nil))
    if !connectWaiters.isEmpty, connections.isEmpty { connect() }
  }

  func drain(_ connection: ClientConnection, _ reason: String) {
    guard pool.drain(connection.number) else { return }
    connection.drainDeadline = now + engine.configuration.drainTimeout
    tell(connection, .draining(reason))
  }

  /// Replaces a connection whose peer allows no streams; one that never took a request counts as a failed connect.
  func giveUp(_ number: UInt32) {
    guard let connection = connection(number), let session = connection.session else { return }
    let reason = "it has allowed no streams for \(engine.configuration.noStreamsTimeout.components.seconds) s"
    drain(connection, reason)
    if session.answered == 0 {
      pool.neverTook(now: now, random: Double.random(in: 0..<1))
      record(HTTP2Failure(.noStreams, endpoint: endpoint, reason: reason))
    }
    progressed(connection)
  }

  private func record(_ failure: HTTP2Failure) {
    let complete = failure.retrying(notBefore: pool.backoff.notBefore)
    lastFailure = complete
    tellWaiters(complete)
  }

  private func tell(_ connection: ClientConnection, _ kind: HTTP2ConnectionEvent.Kind) {
    engine.configuration.onEvent?(
      HTTP2ConnectionEvent(origin: origin.label, connection: connection.number, kind: kind))
  }

  func tellWaiters(_ failure: HTTP2Failure?) {
    let waiters = connectWaiters
    connectWaiters.removeAll()
    for waiter in waiters { waiter(failure) }
  }
}
