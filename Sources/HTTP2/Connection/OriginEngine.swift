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
  unowned let engine: ClientEngine
  var queue = RequestQueue()
  var pool: ConnectionPool
  var connections: [ClientConnection] = []
  var lastFailure: HTTP2Failure?
  var isFilling = false
  var isClosing = false
  var connectWaiters: [@Sendable (HTTP2Failure?) -> Void] = []

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
        refusalDelay: configuration.refusalDelay, noStreamsTimeout: configuration.noStreamsTimeout,
        minimumBackoff: configuration.minimumBackoff,
        maximumBackoff: origin.maximumBackoff ?? configuration.maximumBackoff))
  }

  var now: MonotonicTime { engine.loop.now }

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
    while queue.count > 0, let grant = pool.grant(now: now), let connection = connection(grant.id),
      let session = connection.session
    {
      give(grant.count, to: connection, session)
    }
    guard queue.count > 0 else {
      pool.relaxed()
      return
    }
    switch pool.demand(now: now) {
    case .satisfied, .wait: return
    case .connect: connect()
    case .replace(let number): giveUp(number)
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

  func observe(_ connection: ClientConnection, _ session: ClientSession) {
    let open = session.openStreams
    pool.observe(
      connection.number, open: open, limit: connection.isBlocked ? open : session.streamLimit,
      answered: session.answered,
      now: now)
  }

  /// Sends requests again that a connection gave back, unless that has been tried often enough.
  func takeBack(_ session: ClientSession) {
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

  func end(_ request: RequestReference, _ outcome: HTTP2Response.Outcome) {
    request.report(outcome, now: now.nanoseconds, into: engine.sink)
    request.end()
  }

  func endQueue(_ failure: HTTP2Failure) {
    for request in queue.popAll() { end(request, .unsent(failure)) }
  }

  var deadlineFailure: HTTP2Failure {
    HTTP2Failure(.deadline, endpoint: endpoint, reason: "the request's deadline came before a stream was free")
  }

  var closingFailure: HTTP2Failure {
    HTTP2Failure(.closing, endpoint: endpoint, reason: "the client is being closed")
  }

  /// Why a request on a draining connection has no answer.
  func drainedFailure(_ session: ClientSession) -> HTTP2Failure {
    if isClosing { return closingFailure }
    let text = session.goAway.map { " after \($0.summary)" } ?? ""
    return HTTP2Failure(.connectionLost, endpoint: endpoint, reason: "no answer before the connection's end\(text)")
  }

  func refusal(_ session: ClientSession) -> HTTP2Failure {
    if let goAway = session.goAway { return HTTP2Failure(.goaway, endpoint: endpoint, reason: goAway.summary) }
    return HTTP2Failure(.refusedStream, endpoint: endpoint, reason: "the peer refused the request again and again")
  }
}
