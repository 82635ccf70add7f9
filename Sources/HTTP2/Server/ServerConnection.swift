import EventLoop
import OpenSSL

/// One client's connection to a server: socket, TLS and HTTP/2 session. Confined to the server's loop, which keeps it
/// alive until it is closed.
final class ServerConnection: EventHandler {
  private enum Phase {
    case handshake
    case open
    /// Nothing more is read; closed as soon as everything is written.
    case closing
    /// Nothing is read or written; closed when the client closes.
    case silent
    case closed
  }

  /// How the connection is closed.
  private enum Ending {
    case farewell
    case fin
    case reset
  }

  let id: UInt64
  private let listener: Int
  private unowned let server: HTTP2Server
  private let stream: TLSStream
  private let greeting: ServerGreeting
  private var registration: RegistrationID?
  private var phase = Phase.handshake
  private var ending = Ending.farewell
  private var session: NGHTTP2ServerSession?
  private let output = ServerOutput()
  /// The socket took less than was offered: nothing is read until it takes more, so that a client that reads nothing
  /// cannot fill our memory.
  private var isBlocked = false
  private var requestCount = 0
  /// Requests whose answers wait for later requests.
  private var held: [ServerRequest] = []

  init(id: UInt64, listener: Int, server: HTTP2Server, stream: TLSStream, greeting: ServerGreeting) {
    self.id = id
    self.listener = listener
    self.server = server
    self.stream = stream
    self.greeting = greeting
  }

  /// What there is to see; nil before and after the connection is open.
  var state: ServerConnectionState? {
    guard let session else { return nil }
    return ServerConnectionState(
      connection: id, listener: listener, openStreams: session.openStreams, streamLimit: session.streamLimit,
      requests: requestCount, isGoingAway: session.isGoingAway)
  }

  /// Begins the handshake, at once or as late as the greeting says.
  func start() throws(SocketError) {
    guard greeting.handshakeDelay == .zero else {
      server.loop.schedule(after: greeting.handshakeDelay) { [weak self] in self?.startLate() }
      return
    }
    try watch()
  }

  private func startLate() {
    guard phase == .handshake else { return }
    do {
      try watch()
    } catch {
      // The kernel has no room for another watch: the client sees its connection closed.
      close()
    }
  }

  private func watch() throws(SocketError) {
    registration = try server.loop.register(stream.socket.descriptor, handler: self)
    server.loop.schedule(after: server.configuration.handshakeTimeout) { [weak self] in
      guard let self, phase == .handshake else { return }
      failHandshake()
    }
  }

  func ready(_ readiness: Readiness) {
    switch phase {
    case .handshake: handshake()
    case .open: readAndAnswer()
    case .closing: flush()
    case .silent: if readiness.contains(.hangUp) { close() }
    case .closed: break
    }
  }

  private func handshake() {
    switch stream.handshake() {
    case .wantRead, .wantWrite: return
    case .closed, .failed: failHandshake()
    case .bytes:
      guard stream.applicationProtocol == "h2",
        let session = NGHTTP2ServerSession(
          connection: id, listener: listener, configuration: server.configuration, greeting: greeting)
      else { return failHandshake() }
      self.session = session
      phase = .open
      server.handler.connectionOpened(id)
      if greeting.fallsSilent { return fallSilent() }
      if let delay = greeting.settingsDelay, delay > .zero {
        server.loop.schedule(after: delay) { [weak self] in
          self?.session?.isMuted = false
          self?.flush()
        }
      }
      // What came with the end of the handshake is no new edge.
      readAndAnswer()
    }
  }

  private func failHandshake() {
    server.handler.violated(.handshake, connection: id)
    close()
  }

  private func readAndAnswer() {
    guard let session else { return }
    flush()
    while phase == .open, !isBlocked {
      let (count, end) = server.input.fill(from: stream)
      if count > 0 {
        let isUsable = session.receive(server.input, byteCount: count)
        report(session)
        answer(session)
        if !isUsable { finish() }
        flush()
      }
      switch end {
      case .more: continue
      case .wait: return
      case .closed: return close()
      }
    }
  }

  /// Gives what came in to the handler, and its replies to the session.
  private func answer(_ session: NGHTTP2ServerSession) {
    if !session.begun.isEmpty { answerEarly(session) }
    guard !session.complete.isEmpty else { return }
    let requests = session.complete
    session.complete.removeAll(keepingCapacity: true)
    for request in requests { answer(request, session) }
  }

  private func answerEarly(_ session: NGHTTP2ServerSession) {
    let requests = session.begun
    session.begun.removeAll()
    for request in requests where session.isReceiving(request) && server.handler.answersEarly(request) {
      session.take(request)
      answer(request, session)
    }
  }

  private func answer(_ request: ServerRequest, _ session: NGHTTP2ServerSession) {
    if request.headerListByteCount > session.headerListLimit {
      request.reply.status = 431
      server.handler.violated(.headerListSize, connection: id)
    } else {
      requestCount += 1
      server.handler.received(request, reply: &request.reply)
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

  private func fallSilent() {
    flush()
    if phase == .open { phase = .silent }
  }

  private func report(_ session: NGHTTP2ServerSession) {
    guard !session.violations.isEmpty else { return }
    let violations = session.violations
    session.violations.removeAll()
    for violation in violations { server.handler.violated(violation, connection: id) }
  }

  /// Reads nothing more and closes once everything is written.
  private func finish() {
    if phase == .open { phase = .closing }
  }

  /// Tells the client that no further request is taken up.
  func goAway(errorCode: UInt32, debugData: [UInt8]) {
    if !perform([.goAway(lastStream: nil, errorCode: errorCode, debugData: debugData)]) { close() }
  }

  /// Writes what the session has to say, as far as the socket takes it.
  func flush() {
    guard phase == .open || phase == .closing, let session else { return }
    isBlocked = false
    while true {
      guard session.fill(output) else { return close() }
      report(session)
      if output.isEmpty { break }
      switch output.send(to: stream) {
      case .sent: continue
      case .blocked:
        isBlocked = true
        return
      case .closed: return close()
      }
    }
    if phase == .closing || session.isOver { close() }
  }

  /// Closes at once.
  func close() {
    guard phase != .closed else { return }
    let wasOpen = session != nil
    phase = .closed
    if let registration { server.loop.remove(registration, descriptor: stream.socket.descriptor) }
    switch ending {
    case .farewell: stream.close()
    case .fin: stream.abandon()
    case .reset:
      stream.socket.setAbortiveClose()
      stream.abandon()
    }
    held = []
    session = nil
    server.closed(self, wasOpen: wasOpen)
  }
}
