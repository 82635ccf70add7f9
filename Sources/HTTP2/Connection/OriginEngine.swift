import EventLoop
import OpenSSL
import Operations

/// One origin on the loop's thread: its queue of requests, its connections and the pool that decides about them.
///
/// ```
/// submit ─▶ queue ─▶ fill ─▶ connection ─▶ answered ───────────────────────▶ sink
///             ▲                  └─ refused, never written ─▶ putBack ┐
///             └───────────────── up to `resubmissions` times ─────────┘
/// ```
final class OriginEngine {
  let origin: HTTP2Origin
  let id: HTTP2OriginID
  let endpoint: String
  private unowned let engine: ClientEngine
  private var queue = RequestQueue()
  private var pool: ConnectionPool
  private var connections: [ClientConnection] = []
  private(set) var lastFailure: HTTP2Failure?
  private var isFilling = false
  private(set) var isClosing = false
  private var connectWaiters: [@Sendable (HTTP2Failure?) -> Void] = []

  init(_ origin: HTTP2Origin, id: HTTP2OriginID, engine: ClientEngine) {
    self.origin = origin
    self.id = id
    self.engine = engine
    endpoint = origin.host.contains(":") ? "[\(origin.host)]:\(origin.port)" : "\(origin.host):\(origin.port)"
    let configuration = engine.configuration
    pool = ConnectionPool(
      ConnectionPool.Rules(
        maximumConnections: origin.maximumConnections, growAfter: configuration.growAfter,
        idleTimeout: configuration.extraConnectionIdleTimeout, replacementInterval: configuration.replacementInterval,
        minimumBackoff: configuration.minimumBackoff, maximumBackoff: configuration.maximumBackoff))
  }

  private var now: MonotonicTime { engine.loop.now }

  /// Nothing waits and nothing is open.
  var isDone: Bool { queue.count == 0 && connections.isEmpty }

  func makeSession(number: UInt32, output: OutputBuffer) -> ClientSession? {
    ClientSession(
      number: number, endpoint: endpoint, watched: engine.watched, sink: engine.sink, output: output,
      limits: ClientSessionLimits(
        maximumStreams: max(1, min(engine.configuration.maximumStreamsPerConnection, 100_000)),
        maximumBodyBytes: engine.configuration.maximumResponseBodyBytes,
        firstStreamID: engine.configuration.firstStreamID))
  }

  func markDirty(_ connection: ClientConnection) { engine.markDirty(connection) }
}

// MARK: - Requests

extension OriginEngine {
  func submit(_ batch: HTTP2RequestBatch) {
    queue.append(batch)
    if isClosing { endQueue(closingFailure) } else { fill() }
  }

  /// Gives waiting requests to connections, and opens a connection or refuses the requests when none can take them.
  func fill() {
    // A connection that breaks while it is filled calls back here; the loop below sees the new state.
    guard !isFilling else { return }
    isFilling = true
    defer { isFilling = false }
    while queue.count > 0, let grant = pool.grant(), let connection = connection(grant.id),
      let session = connection.session
    {
      give(grant.count, to: connection, session)
    }
    guard queue.count > 0 else {
      pool.relaxed()
      return
    }
    switch pool.demand(now: now) {
    case .satisfied: return
    case .connect: connect()
    case .refuse(let time):
      let failure = lastFailure ?? HTTP2Failure(.connect, endpoint: endpoint, reason: "the origin cannot be reached")
      endQueue(failure.retrying(notBefore: time))
    }
  }

  private func give(_ count: Int, to connection: ClientConnection, _ session: ClientSession) {
    session.now = now.nanoseconds
    giving: for _ in 0..<count {
      guard let request = queue.popFirst() else { break }
      guard request.notAfter > session.now else {
        end(request, .unsent(deadlineFailure))
        continue
      }
      switch session.open(request) {
      case .opened: continue
      case .invalid(let failure): end(request, .unsent(failure))
      case .exhausted:
        queue.putBack(request)
        drain(connection, "it takes no further streams")
        break giving
      }
    }
    connection.pump(all: false)
    observe(connection, session)
    if !connection.isClosed { engine.markDirty(connection) }
  }

  private func observe(_ connection: ClientConnection, _ session: ClientSession) {
    let open = session.openStreams
    pool.observe(connection.number, open: open, limit: connection.isBlocked ? open : session.streamLimit, now: now)
  }

  /// Sends requests again that a connection gave back, unless that has been tried often enough.
  private func takeBack(_ session: ClientSession) {
    guard !session.refused.isEmpty else { return }
    let refused = session.refused
    session.refused.removeAll()
    for request in refused {
      if request.attempts <= engine.configuration.resubmissions, !isClosing {
        queue.putBack(request)
      } else {
        end(request, .unsent(isClosing ? closingFailure : refusal(session)))
      }
    }
  }

  private func end(_ request: RequestReference, _ outcome: HTTP2Response.Outcome) {
    request.report(outcome, now: now.nanoseconds, into: engine.sink)
    request.end()
  }

  private func endQueue(_ failure: HTTP2Failure) {
    for request in queue.popAll() { end(request, .unsent(failure)) }
  }

  private var deadlineFailure: HTTP2Failure {
    HTTP2Failure(.deadline, endpoint: endpoint, reason: "the request's deadline came before a stream was free")
  }

  private var closingFailure: HTTP2Failure {
    HTTP2Failure(.closing, endpoint: endpoint, reason: "the client is being closed")
  }

  /// Why a request on a draining connection has no answer.
  func drainedFailure(_ session: ClientSession) -> HTTP2Failure {
    if isClosing { return closingFailure }
    let text = session.goAway.map { " after \($0.summary)" } ?? ""
    return HTTP2Failure(.connectionLost, endpoint: endpoint, reason: "no answer before the connection's end\(text)")
  }

  private func refusal(_ session: ClientSession) -> HTTP2Failure {
    if let goAway = session.goAway { return HTTP2Failure(.goaway, endpoint: endpoint, reason: goAway.summary) }
    return HTTP2Failure(.refusedStream, endpoint: endpoint, reason: "the peer refused the request again and again")
  }
}

// MARK: - Connections

extension OriginEngine {
  private func connection(_ number: UInt32) -> ClientConnection? { connections.first { $0.number == number } }

  private func connect() {
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
    takeBack(session)
    observe(connection, session)
    if connection.drainDeadline != nil, session.openStreams == 0 {
      connection.finish(session.goAway.map { HTTP2Failure(.goaway, endpoint: endpoint, reason: $0.summary) })
    }
    fill()
  }

  /// An established connection is gone; its requests have ended or come back.
  func ended(_ connection: ClientConnection, _ session: ClientSession, _ failure: HTTP2Failure?) {
    connections.removeAll { $0 === connection }
    // A GOAWAY before the first answer is the peer's refusal, however orderly it went.
    let intended = failure == nil && session.goAway == nil
    let early = pool.ended(
      connection.number, answered: session.answered > 0, intended: intended, now: now,
      random: Double.random(in: 0..<1))
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
    _ = pool.ended(connection.number, answered: false, intended: true, now: now, random: 0)
    tell(connection, .closed(nil))
    if !connectWaiters.isEmpty, connections.isEmpty { connect() }
  }

  private func drain(_ connection: ClientConnection, _ reason: String) {
    guard pool.drain(connection.number) else { return }
    connection.drainDeadline = now + engine.configuration.drainTimeout
    tell(connection, .draining(reason))
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

  private func tellWaiters(_ failure: HTTP2Failure?) {
    let waiters = connectWaiters
    connectWaiters.removeAll()
    for waiter in waiters { waiter(failure) }
  }
}

// MARK: - Time and control

extension OriginEngine {
  /// Looks at all deadlines.
  func tick() {
    if queue.count > 0 {
      for request in queue.popExpired(now.nanoseconds) { end(request, .unsent(deadlineFailure)) }
    }
    for connection in connections {
      connection.tick(pingInterval: engine.configuration.pingInterval, pingTimeout: engine.configuration.pingTimeout)
    }
    if let number = pool.surplus(now: now), let connection = connection(number), pool.drain(number) {
      connection.finish(nil)
    }
    fill()
  }

  /// When ``tick()`` must run again; nil when there is nothing to watch.
  func nextTick(interval: Duration) -> MonotonicTime? {
    if queue.count > 0 { return now + interval }
    var next: MonotonicTime?
    for connection in connections {
      guard let session = connection.session else { continue }
      let busy = session.openStreams > 0 || connection.drainDeadline != nil
      let time =
        busy ? now + interval : connection.nextIdleTick(pingInterval: engine.configuration.pingInterval)
      next = min(next ?? time, time)
    }
    // An idle connection beyond the first is closed by a tick, too.
    if connections.count > 1, let time = next { next = min(time, now + .seconds(5)) }
    return next
  }

  func replaceConnections() {
    for connection in connections {
      if connection.session == nil {
        connection.finish(nil)
      } else {
        drain(connection, "it is being replaced")
        progressed(connection)
      }
    }
    fill()
  }

  /// Ends waiting requests, and connections as soon as they are idle or `grace` is over.
  func close(grace: Duration) {
    isClosing = true
    endQueue(closingFailure)
    tellWaiters(closingFailure)
    for connection in connections {
      guard let session = connection.session else {
        connection.finish(nil)
        continue
      }
      _ = pool.drain(connection.number)
      connection.drainDeadline = now + grace
      if session.openStreams == 0 || grace <= .zero { connection.finish(closingFailure) }
    }
  }

  /// Opens a connection if there is none and tells when one is open or why not.
  func connect(_ waiter: @escaping @Sendable (HTTP2Failure?) -> Void) {
    if connections.contains(where: { $0.session != nil && $0.drainDeadline == nil }) { return waiter(nil) }
    if isClosing { return waiter(closingFailure) }
    switch pool.demand(now: now) {
    case .satisfied: connectWaiters.append(waiter)
    case .connect:
      connectWaiters.append(waiter)
      connect()
    case .refuse: waiter(lastFailure)
    }
  }

  func snapshot() -> HTTP2OriginSnapshot {
    HTTP2OriginSnapshot(
      id: id, label: origin.label, endpoint: endpoint, queuedRequests: queue.count,
      connections: connections.map { connection in
        let session = connection.session
        return HTTP2ConnectionSnapshot(
          number: connection.number,
          phase: session == nil ? .connecting : connection.drainDeadline == nil ? .ready : .draining,
          openStreams: session?.openStreams ?? 0, streamLimit: session?.streamLimit ?? 0,
          settingsReceived: session?.settingsReceived ?? false, answered: session?.answered ?? 0,
          peer: connection.peer, tls: connection.tlsSummary)
      }, lastFailure: lastFailure, retryNotBefore: pool.backoff.notBefore)
  }
}
