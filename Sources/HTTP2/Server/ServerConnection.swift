import EventLoop
import OpenSSL

/// One client's connection to a server: socket, TLS and HTTP/2 session. Confined to the server's loop, which keeps it
/// alive until it is closed.
final class ServerConnection: EventHandler {
  enum Phase {
    case handshake
    case open
    /// Nothing more is read; closed as soon as everything is written.
    case closing
    /// Nothing is read or written; closed when the client closes.
    case silent
    /// Everything is said; what comes is dropped until the client closes.
    case lingering
    case closed
  }

  /// How the connection is closed.
  enum Ending {
    case farewell
    case fin
    case reset
  }

  private static let lingerTime = Duration.seconds(10)

  let id: UInt64
  private let listener: Int
  unowned let server: HTTP2Server
  private let stream: TLSStream
  private var greeting: ServerGreeting
  private var registration: RegistrationID?
  var phase = Phase.handshake
  var ending = Ending.farewell
  var session: NGHTTP2ServerSession?
  private let output = ServerOutput()
  /// The socket took less than was offered: nothing is read until it takes more, so that a client that reads nothing
  /// cannot fill our memory.
  private var isBlocked = false
  var requestCount = 0
  /// Requests whose answers wait for later requests.
  var held: [ServerRequest] = []

  init(id: UInt64, listener: Int, server: HTTP2Server, stream: TLSStream, greeting: ServerGreeting) {
    self.id = id
    self.listener = listener
    self.server = server
    self.stream = stream
    self.greeting = greeting
  }

  /// What there is to see; nil before and after the connection is open.
  var state: ServerConnectionState? {
    guard let session, phase != .lingering else { return nil }
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
    case .lingering: dropInput()
    case .closed: break
    }
  }

  private func handshake() {
    switch stream.handshake() {
    case .wantRead, .wantWrite: return
    case .closed, .failed: failHandshake()
    case .bytes:
      if greeting.isTLSBad { server.handler.violated(.acceptedBadTLS, connection: id) }
      guard stream.applicationProtocol == "h2" else { return failHandshake() }
      if let certificate = stream.peerCertificate {
        server.handler.identified(id, listener: listener, by: certificate, greeting: &greeting)
      }
      session = NGHTTP2ServerSession(
        connection: id, listener: listener, configuration: server.configuration, greeting: greeting)
      guard session != nil else { return failHandshake() }
      phase = .open
      server.handler.connectionOpened(id)
      if greeting.fallsSilent { return fallSilent() }
      perform(greeting.commands)
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
    if !greeting.spoilsHandshake { server.handler.violated(.handshake, connection: id) }
    close()
  }

  private func readAndAnswer() {
    guard let session else { return }
    flush()
    while phase == .open, !isBlocked {
      let (count, end) = server.input.fill(from: stream)
      if count > 0 {
        let isUsable = session.receive(server.input, byteCount: count)
        let most = session.takeMostOpenStreams()
        if most > 0 { server.handler.opened(streams: most, connection: id) }
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

  func fallSilent() {
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
  func finish() {
    if phase == .open { phase = .closing }
  }

  /// Tells the client that no further request is taken up; a connection at its end is left to come to it.
  func goAway(errorCode: UInt32, debugData: [UInt8]) {
    guard phase != .closing, phase != .lingering else { return }
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
    guard phase == .closing || session.isOver else { return }
    if ending == .reset { close() } else { linger() }
  }

  /// Sends FIN and waits for the client's: closing while there is something unread would send RST instead, and take from
  /// the client what it has not read yet.
  private func linger() {
    phase = .lingering
    if ending == .farewell { stream.sayFarewell() }
    stream.socket.shutDownWriting()
    server.loop.schedule(after: Self.lingerTime) { [weak self] in self?.close() }
    // What has come already is no new edge.
    dropInput()
  }

  private func dropInput() {
    if server.input.drop(from: stream.socket) { close() }
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
