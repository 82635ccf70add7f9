import EventLoop
import OpenSSL
import Operations

/// One connection of an origin, from the name look-up to the last byte: moves bytes between socket, TLS and session, and
/// tells the origin what happened. It decides nothing about other connections.
final class ClientConnection: EventHandler {
  enum Stage {
    case connecting(Connector)
    case tunneling(ProxyTunnel)
    case handshaking(TLSStream)
    case open(TLSStream, ClientSession)
    case closed
  }

  /// TLS records read in one turn, so that a busy peer does not keep other connections and timers waiting.
  private static let recordsPerTurn = 16

  let number: UInt32
  unowned let origin: OriginEngine
  let loop: EventLoop
  private let input: InputBuffer
  let output = OutputBuffer()
  var stage = Stage.closed
  var registration: RegistrationID?
  var descriptor: Int32 = -1
  var connectDeadline: TimerID?
  /// The socket takes no bytes now; new streams would only wait in memory.
  private(set) var isBlocked = false
  /// It is on the list of connections to flush at the end of the turn.
  var isDirty = false
  /// When a draining connection stops waiting.
  var drainDeadline: MonotonicTime?
  var lastReceived = MonotonicTime(nanoseconds: 0)
  private var pingDeadline: MonotonicTime?
  /// We have said GOAWAY ourselves: how the connection ends is of no interest.
  private var isClosing = false
  var peer = ""
  var tlsSummary = ""

  init(number: UInt32, origin: OriginEngine, loop: EventLoop, input: InputBuffer) {
    self.number = number
    self.origin = origin
    self.loop = loop
    self.input = input
  }

  /// The session once TLS is agreed.
  var session: ClientSession? {
    if case .open(_, let session) = stage { session } else { nil }
  }

  var isClosed: Bool {
    if case .closed = stage { true } else { false }
  }
}

// MARK: - Moving bytes

extension ClientConnection {
  func ready(_ readiness: Readiness) {
    let wasBlocked = isBlocked
    if readiness.contains(.writable) { isBlocked = false }
    switch stage {
    case .handshaking(let stream): shakeHands(stream)
    case .open:
      read()
      if wasBlocked, !isBlocked {
        pump(all: false)
        // There is room for streams again.
        origin.progressed(self)
      }
      if !isClosed { origin.markDirty(self) }
    case .connecting, .tunneling, .closed: return
    }
  }

  func read() {
    for _ in 0..<Self.recordsPerTurn {
      guard case .open(let stream, let session) = stage else { return }
      switch input.read(from: stream) {
      case .bytes(let count):
        loop.refreshNow()
        lastReceived = loop.now
        pingDeadline = nil
        session.now = loop.now.nanoseconds
        if let reason = session.receive(input, count: count) {
          lose(HTTP2Failure(.protocolError, endpoint: origin.endpoint, reason: reason))
          return
        }
        origin.progressed(self)
      case .wantRead, .wantWrite: return
      case .closed:
        let text = session.goAway.map { " after \($0.summary)" } ?? ""
        lose(HTTP2Failure(.connectionLost, endpoint: origin.endpoint, reason: "the peer closed the connection\(text)"))
        return
      case .failed(let error):
        lose(Self.failure(error, at: origin.endpoint, connecting: false))
        return
      }
    }
    if let registration { loop.resume(registration, .readable) }
  }

  /// Writes waiting frames: full TLS records, or everything.
  func pump(all: Bool) {
    guard case .open(let stream, let session) = stage, !isBlocked else { return }
    var more = true
    while more {
      guard session.produce() else {
        lose(HTTP2Failure(.protocolError, endpoint: origin.endpoint, reason: "no frame can be made any more"))
        return
      }
      more = output.count >= OutputBuffer.recordLength
      switch output.flush(to: stream, all: all && !more) {
      case .bytes: continue
      case .wantRead, .wantWrite:
        isBlocked = true
        return
      case .closed:
        lose(HTTP2Failure(.connectionLost, endpoint: origin.endpoint, reason: "the peer closed the connection"))
        return
      case .failed(let error):
        lose(Self.failure(error, at: origin.endpoint, connecting: false))
        return
      }
    }
    if all, !isClosing, session.isOver {
      lose(
        HTTP2Failure(
          .protocolError, endpoint: origin.endpoint,
          reason: session.problem ?? "HTTP/2 came to an end, one side broke its rules"))
    }
  }
}

// MARK: - Time and end

extension ClientConnection {
  /// Looks at deadlines: of requests, of a PING, of draining.
  func tick(pingInterval: Duration, pingTimeout: Duration) {
    guard case .open(_, let session) = stage else { return }
    let now = loop.now
    session.now = now.nanoseconds
    session.cancelExpired()
    if let drainDeadline, drainDeadline <= now {
      finish(origin.drainedFailure(session))
      return
    }
    if let pingDeadline {
      if pingDeadline <= now {
        lose(
          HTTP2Failure(
            .pingTimeout, endpoint: origin.endpoint, reason: "the peer did not answer a PING: it is half-dead"))
        return
      }
    } else if now.since(lastReceived) >= pingInterval {
      session.ping()
      pingDeadline = now + pingTimeout
    }
    origin.progressed(self)
    if !isClosed { origin.markDirty(self) }
  }

  /// When ``tick(pingInterval:pingTimeout:)`` has something to do, if nothing is open.
  func nextIdleTick(pingInterval: Duration) -> MonotonicTime { pingDeadline ?? lastReceived + pingInterval }

  /// Says GOAWAY and closes. Open requests end as after a lost connection, with `failure`.
  func finish(_ failure: HTTP2Failure?) {
    switch stage {
    case .open(_, let session):
      session.now = loop.now.nanoseconds
      session.terminate()
      isClosing = true
      pump(all: true)
      if !isClosed { close(failure, intended: true) }
    case .connecting, .tunneling, .handshaking:
      release()
      origin.canceled(self)
    case .closed: return
    }
  }

  private func lose(_ failure: HTTP2Failure) { close(failure, intended: isClosing) }

  private func close(_ failure: HTTP2Failure?, intended: Bool) {
    guard case .open(_, let session) = stage else { return }
    release()
    session.abandon(
      failure ?? HTTP2Failure(.connectionLost, endpoint: origin.endpoint, reason: "the connection was closed"))
    origin.ended(self, session, intended ? nil : failure)
  }

  func release() {
    if let timer = connectDeadline { loop.cancel(timer) }
    connectDeadline = nil
    if let registration { loop.remove(registration, descriptor: descriptor) }
    registration = nil
    let last = stage
    stage = .closed
    switch last {
    case .connecting(let connector): connector.cancel()
    case .tunneling(let tunnel): tunnel.cancel()
    case .handshaking(let stream), .open(let stream, _): stream.close()
    case .closed: return
    }
  }
}
