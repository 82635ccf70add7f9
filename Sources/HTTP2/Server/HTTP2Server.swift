public import EventLoop
public import OpenSSL

/// A server for HTTP/2 over TLS: listens, takes whole requests and gives them to a handler.
///
/// Created on its loop's thread and confined to it. The loop keeps listeners and connections; the owner keeps the server
/// until ``shutDown(within:_:)`` has called back or the loop has ended.
public final class HTTP2Server {
  let loop: EventLoop
  let configuration: ServerConfiguration
  let handler: any ServerHandler
  let input = ServerInput()
  private let tls: TLSContext
  private var listeners: [ServerListener] = []
  private var connections: [UInt64: ServerConnection] = [:]
  private var lastConnection: UInt64 = 0
  private var toFlush: [ServerConnection] = []
  private var onEnd: (() -> Void)?

  /// A server that listens nowhere yet. `handler` must outlive it.
  public init(loop: EventLoop, tls: TLSContext, configuration: ServerConfiguration, handler: any ServerHandler) {
    self.loop = loop
    self.tls = tls
    self.configuration = configuration
    self.handler = handler
    loop.addTurnHandler(self)
  }

  /// Takes connections from a socket of ``EventLoop/Socket/listen(host:port:backlog:)``.
  public func listen(on socket: Socket) throws(SocketError) {
    let listener = ServerListener(server: self, number: listeners.count, socket: socket)
    try listener.start()
    listeners.append(listener)
  }

  /// How many connections there are.
  public var connectionCount: Int { connections.count }

  /// Does something to one connection, or to all with `connection` nil. False when there is no such connection, or it is
  /// not open yet or no longer.
  @discardableResult
  public func perform(_ commands: [ServerCommand], on connection: UInt64? = nil) -> Bool {
    guard let connection else {
      for connection in Array(connections.values) { connection.perform(commands) }
      return true
    }
    return connections[connection]?.perform(commands) ?? false
  }

  /// The open connections in the order of their numbers.
  public var connectionStates: [ServerConnectionState] {
    connections.values.compactMap(\.state).sorted { $0.connection < $1.connection }
  }

  /// Takes no more connections, tells every client to go away, lets open streams end, and calls `ended` when the last
  /// connection is closed or the time is over.
  public func shutDown(within grace: Duration, debugData: [UInt8] = [], _ ended: @escaping () -> Void) {
    for listener in listeners { listener.close() }
    listeners = []
    onEnd = ended
    for connection in Array(connections.values) { connection.goAway(errorCode: 0, debugData: debugData) }
    guard !connections.isEmpty else { return end() }
    loop.schedule(after: grace) { [weak self] in
      guard let self else { return }
      for connection in Array(connections.values) { connection.close() }
    }
  }

  func accepted(_ socket: Socket, by listener: Int) {
    lastConnection += 1
    let greeting = handler.greeting(for: lastConnection, listener: listener)
    guard !greeting.refuses else {
      socket.setAbortiveClose()
      return socket.close()
    }
    let peer = socket.peerAddress?.description ?? "unknown address"
    do {
      let stream = try TLSStream(server: greeting.tls ?? tls, socket: socket, peer: peer)
      let connection = ServerConnection(
        id: lastConnection, listener: listener, server: self, stream: stream, greeting: greeting)
      try connection.start()
      connections[lastConnection] = connection
    } catch {
      // Memory or descriptors are out: the client sees its connection closed, as at any overloaded server.
      socket.close()
    }
  }

  func closed(_ connection: ServerConnection, wasOpen: Bool) {
    connections[connection.id] = nil
    if wasOpen { handler.connectionClosed(connection.id) }
    if connections.isEmpty { end() }
  }

  func flushAtEndOfTurn(_ connection: ServerConnection) {
    if toFlush.last !== connection { toFlush.append(connection) }
  }

  private func end() {
    guard let onEnd else { return }
    self.onEnd = nil
    loop.removeTurnHandler(self)
    onEnd()
  }
}

extension HTTP2Server: TurnHandler {
  /// Writes the answers whose delay ended in this turn, all of a connection at once.
  public func turnEnded() {
    guard !toFlush.isEmpty else { return }
    let connections = toFlush
    toFlush.removeAll(keepingCapacity: true)
    for connection in connections { connection.flush() }
  }
}

/// A listening socket of a server.
private final class ServerListener: EventHandler {
  private unowned let server: HTTP2Server
  private let number: Int
  private let socket: Socket
  private var registration: RegistrationID?

  init(server: HTTP2Server, number: Int, socket: Socket) {
    self.server = server
    self.number = number
    self.socket = socket
  }

  func start() throws(SocketError) {
    registration = try server.loop.register(socket.descriptor, handler: self)
  }

  func ready(_ readiness: Readiness) {
    while true {
      do {
        guard let connection = try socket.accept() else { return }
        server.accepted(connection, by: number)
      } catch {
        // Descriptors are out; the edge is gone, so waiting connections are asked for again a little later.
        server.loop.schedule(after: .milliseconds(100)) { [weak self] in self?.ready(.readable) }
        return
      }
    }
  }

  func close() {
    if let registration { server.loop.remove(registration, descriptor: socket.descriptor) }
    registration = nil
    socket.close()
  }
}
