import EventLoop
import OpenSSL
import Operations

/// One connection of an origin, from the name look-up to the last byte: moves bytes between socket, TLS and session, and
/// tells the origin what happened. It decides nothing about other connections.
final class ClientConnection: EventHandler {
  private enum Stage {
    case connecting(Connector)
    case handshaking(TLSStream)
    case open(TLSStream, ClientSession)
    case closed
  }

  /// TLS records read in one turn, so that a busy peer does not keep other connections and timers waiting.
  private static let recordsPerTurn = 16

  let number: UInt32
  private unowned let origin: OriginEngine
  private let loop: EventLoop
  private let input: InputBuffer
  private let output = OutputBuffer()
  private var stage = Stage.closed
  private var registration: RegistrationID?
  private var descriptor: Int32 = -1
  private var connectDeadline: TimerID?
  /// The socket takes no bytes now; new streams would only wait in memory.
  private(set) var isBlocked = false
  /// It is on the list of connections to flush at the end of the turn.
  var isDirty = false
  /// When a draining connection stops waiting.
  var drainDeadline: MonotonicTime?
  private var lastReceived = MonotonicTime(nanoseconds: 0)
  private var pingDeadline: MonotonicTime?
  /// We have said GOAWAY ourselves: how the connection ends is of no interest.
  private var isClosing = false
  private(set) var peer = ""
  private(set) var tlsSummary = ""

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

// MARK: - Establishing

extension ClientConnection {
  /// Begins to connect; reports to the origin in a later turn.
  func start(timeout: Duration) {
    let deadline = loop.now + timeout
    let connector = Connector(loop: loop, host: origin.origin.host, port: origin.origin.port, deadline: deadline) {
      [weak self] result in
      switch result {
      case .success(let socket): self?.secure(socket)
      case .failure(let error): self?.failToConnect(ClientConnection.failure(error, at: self?.origin.endpoint ?? ""))
      }
    }
    stage = .connecting(connector)
    // One deadline for both halves: this timer is later in line than the connector's own.
    connectDeadline = loop.schedule(at: deadline) { [weak self] in self?.runOutOfTime() }
  }

  private func secure(_ socket: Socket) {
    do {
      let name = origin.endpoint
      let stream = try TLSStream(client: origin.origin.tls, host: origin.origin.host, socket: socket, peer: name)
      peer = socket.peerAddress?.description ?? ""
      descriptor = socket.descriptor
      stage = .handshaking(stream)
      registration = try loop.register(descriptor, handler: self)
      shakeHands(stream)
    } catch let error as TLSError {
      failToConnect(Self.failure(error, at: origin.endpoint, connecting: true))
    } catch let error as SocketError {
      failToConnect(Self.failure(error, at: origin.endpoint))
    } catch {
      failToConnect(HTTP2Failure(.connect, endpoint: origin.endpoint, reason: "\(error)"))
    }
  }

  private func shakeHands(_ stream: TLSStream) {
    switch stream.handshake() {
    case .wantRead, .wantWrite: return
    case .failed(let error): failToConnect(Self.failure(error, at: origin.endpoint, connecting: true))
    case .closed:
      failToConnect(HTTP2Failure(.tls, endpoint: origin.endpoint, reason: "the peer closed the connection"))
    case .bytes:
      guard stream.applicationProtocol == "h2" else {
        failToConnect(
          HTTP2Failure(
            .alpn, endpoint: origin.endpoint,
            reason: "the peer speaks TLS but does not agree to HTTP/2 (ALPN: \(stream.applicationProtocol ?? "none"))",
            remedy: "check the port; HTTP/2 (h2) must be enabled there"))
        return
      }
      open(stream)
    }
  }

  private func open(_ stream: TLSStream) {
    guard let session = origin.makeSession(number: number, output: output) else {
      failToConnect(HTTP2Failure(.tls, endpoint: origin.endpoint, reason: "no memory for an HTTP/2 session"))
      return
    }
    if let timer = connectDeadline { loop.cancel(timer) }
    connectDeadline = nil
    tlsSummary = stream.summary
    lastReceived = loop.now
    session.now = loop.now.nanoseconds
    stage = .open(stream, session)
    origin.connected(self)
    // The peer's SETTINGS often come with its last handshake bytes, and no new edge announces them.
    if !isClosed { read() }
  }

  private func runOutOfTime() {
    connectDeadline = nil
    let doing =
      if case .handshaking = stage {
        "the peer accepted TCP but did not finish the TLS handshake in time"
      } else {
        "no connection in time"
      }
    failToConnect(
      HTTP2Failure(
        .connectTimeout, endpoint: origin.endpoint, reason: doing,
        remedy: "check the address, and whether a firewall or proxy lies between"))
  }

  private func failToConnect(_ failure: HTTP2Failure) {
    guard !isClosed else { return }
    release()
    origin.failedToConnect(self, failure)
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
    case .connecting, .closed: return
    }
  }

  private func read() {
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
    case .connecting, .handshaking:
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

  private func release() {
    if let timer = connectDeadline { loop.cancel(timer) }
    connectDeadline = nil
    if let registration { loop.remove(registration, descriptor: descriptor) }
    registration = nil
    let last = stage
    stage = .closed
    switch last {
    case .connecting(let connector): connector.cancel()
    case .handshaking(let stream), .open(let stream, _): stream.close()
    case .closed: return
    }
  }
}
