internal import CMicroHTTPD
import EventLoop
internal import Glibc
import Operations

/// What answers requests; called from the daemon's thread and from tasks.
protocol RequestHandler: Sendable {
  /// An answer for a request whose body must not be read; nil = read it. Called on the daemon's thread: returns at once.
  func refusal(of head: RequestHead) -> Answer?
  /// The answer for a whole request.
  func answer(_ request: Exchange.Arrived) async -> Answer
}

/// A libmicrohttpd daemon: one thread with epoll that reads requests and writes answers for one listening socket. While a request is
/// answered its connection is suspended and costs no thread.
///
/// The handle is set once, before any request, and used as libmicrohttpd allows: suspending on its thread, resuming from anywhere.
@safe final class Daemon: @unchecked Sendable {
  /// Bytes for the head of a request and what is read or written at a time; a longer head is answered 431.
  private static let connectionMemoryBytes = 16 << 10

  /// Connections beyond the limit that may be at their end.
  private static let connectionsEnding = 256

  private let socket: Socket
  private let handler: any RequestHandler
  let clocks: any Clocks
  private let table: Lock<ConnectionTable>
  private let openAnswers = OpenCount()
  private var handle: OpaquePointer?

  /// Starts serving; the socket is the daemon's from now on.
  ///
  /// - Throws: when the certificate cannot be used, or the system has no thread or descriptor left.
  init(
    socket: Socket, tls: ServerCertificate?, limits: HTTPServer.Limits, trusted: [IPAddressRange],
    handler: any RequestHandler, clocks: any Clocks
  ) throws(SocketError) {
    self.socket = socket
    self.handler = handler
    self.clocks = clocks
    table = Lock(ConnectionTable(limits: limits, trusted: trusted))
    unsafe handle = unsafe Self.start(socket.descriptor, tls, limits, owner: Unmanaged.passUnretained(self).toOpaque())
    guard unsafe handle != nil else {
      throw SocketError(
        .create, "a server for \(socket.name)", code: 0,
        reason: tls == nil ? "libmicrohttpd could not start" : "libmicrohttpd could not start with this certificate",
        remedy: tls == nil
          ? "Raise the limits of threads and descriptors of this process." : "Check that cert and key belong together.")
    }
  }

  private static func start(
    _ descriptor: Int32, _ tls: ServerCertificate?, _ limits: HTTPServer.Limits, owner: UnsafeMutableRawPointer
  ) -> OpaquePointer? {
    var settings = unsafe daemon_settings()
    unsafe settings.listening_socket = descriptor
    unsafe settings.owner = owner
    unsafe settings.accepts = acceptConnection
    unsafe settings.handles = handleRequest
    unsafe settings.begins = beginRequest
    unsafe settings.completes = completeRequest
    unsafe settings.notifies = noteConnection
    // The table keeps the limit; those that make room for others are there a little longer.
    unsafe settings.connection_limit = UInt32(limits.connections + connectionsEnding)
    unsafe settings.connection_memory = connectionMemoryBytes
    // The table ends idle connections; this is for writers to peers that read nothing.
    unsafe settings.idle_timeout_seconds = UInt32(limits.idleTimeout.components.seconds)
    guard let tls else { return unsafe daemon_start(&settings) }
    return unsafe (tls.certificate + [0]).withUnsafeBytes { certificate in
      unsafe (tls.key + [0]).withUnsafeBytes { key in
        unsafe "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2".withCString { priorities in
          // libmicrohttpd reads all three before it returns.
          unsafe settings.certificate = certificate.baseAddress?.assumingMemoryBound(to: CChar.self)
          unsafe settings.key = key.baseAddress?.assumingMemoryBound(to: CChar.self)
          unsafe settings.tls_priorities = priorities
          return unsafe daemon_start(&settings)
        }
      }
    }
  }

  // MARK: Connections

  fileprivate func accepts(_ address: IPAddress?) -> Bool {
    table.withLock { table in
      switch table.admit(address) {
      case .accepted: return true
      case .refused: return false
      case .inPlaceOf(let descriptor):
        // As in `endOverdue`: while the lock is held, the descriptor is that connection's.
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
        return true
      }
    }
  }

  fileprivate func opened(_ connection: OpaquePointer) {
    let (descriptor, peer) = unsafe (connection_descriptor(connection), IPAddress(connection_peer(connection)))
    let now = clocks.monotonicTime()
    table.withLock { $0.opened(UInt(bitPattern: connection), descriptor: descriptor, address: peer, now: now) }
  }

  fileprivate func closed(_ connection: OpaquePointer) {
    table.withLock { $0.closed(UInt(bitPattern: connection)) }
  }

  /// Ends connections whose time is over.
  func endOverdue() {
    let now = clocks.monotonicTime()
    // Under the lock a descriptor cannot be closed and given to another connection: libmicrohttpd tells first.
    table.withLock { for descriptor in $0.overdue(now: now) { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }
  }

  // MARK: Requests

  fileprivate func began(_ connection: OpaquePointer, _ target: String) -> Exchange {
    let now = clocks.monotonicTime()
    table.withLock { $0.requestBegan(UInt(bitPattern: connection), now: now) }
    return Exchange(target: target)
  }

  fileprivate func ended(_ connection: OpaquePointer) {
    let now = clocks.monotonicTime()
    table.withLock { $0.requestEnded(UInt(bitPattern: connection), now: now) }
  }

  /// One call of libmicrohttpd for a request: its head, a piece of its body, its end, or that its answer is ready.
  fileprivate func handle(
    _ exchange: Exchange, _ connection: OpaquePointer, method: String, piece: UnsafeRawBufferPointer
  ) -> MHD_Result {
    if !exchange.hasHead {
      let peer = table.withLock { $0.address(of: UInt(bitPattern: connection)) }
      let head = RequestHead(
        method: method, rawTarget: exchange.target, fields: unsafe RequestFields.read(connection), peer: peer)
      guard let refusal = exchange.begin(head, now: clocks.monotonicTime(), handler) else { return .YES }
      return unsafe Reply.queue(refusal, on: connection, self)
    }
    guard unsafe piece.isEmpty else { return unsafe exchange.receive(piece) ? .YES : .NO }
    if let answer = exchange.takeAnswer() { return unsafe Reply.queue(answer, on: connection, self) }
    let now = clocks.monotonicTime()
    table.withLock { $0.requestArrived(UInt(bitPattern: connection), now: now) }
    openAnswers.add(1)
    // Begins here, so that only what waits for the store takes another thread. `stop` waits for it.
    Task.immediate { [handler, openAnswers] in
      exchange.finish(await handler.answer(exchange.arrived()))
      openAnswers.add(-1)
    }
    guard let answer = exchange.takeAnswer(orRest: { unsafe SuspendedConnection(connection).resume }) else {
      return .YES
    }
    return unsafe Reply.queue(answer, on: connection, self)
  }

  /// Lets the connection rest until `work` is done.
  func suspend(_ connection: OpaquePointer, until work: @escaping @Sendable () async -> Void) {
    let suspended = unsafe SuspendedConnection(connection)
    openAnswers.add(1)
    // `stop` waits for it: libmicrohttpd must not be stopped with a suspended connection.
    Task {
      await work()
      suspended.resume()
      openAnswers.add(-1)
    }
  }

  // MARK: End

  /// Takes no new connections; requests that are open go on.
  func quiesce() {
    guard let handle = unsafe handle else { return }
    // It gives the socket back, which is closed here; without a thread to tell it gives -1 and changes nothing.
    if unsafe MHD_quiesce_daemon(handle) >= 0 { socket.close() }
  }

  /// How many requests are coming or being answered.
  var openRequestCount: Int { table.withLock { $0.openRequests } }

  /// Ends all connections and the thread. Calls of the handler are waited for.
  func stop() async {
    guard let handle = unsafe handle else { return }
    table.withLock { for descriptor in $0.descriptors { _ = shutdown(descriptor, Int32(SHUT_RDWR)) } }
    await openAnswers.waitForZero()
    // Joins a thread that has nothing left to do but to close its connections.
    unsafe MHD_stop_daemon(handle)
    unsafe self.handle = nil
  }
}

/// A connection that libmicrohttpd keeps until it is resumed, which is allowed from any thread, once.
@safe private struct SuspendedConnection: @unchecked Sendable {
  private let connection: OpaquePointer

  /// Suspends it; only inside a callback for it.
  init(_ connection: OpaquePointer) {
    unsafe self.connection = connection
    unsafe MHD_suspend_connection(connection)
  }

  func resume() { unsafe MHD_resume_connection(connection) }
}

// MARK: Callbacks, all on the daemon's thread

private func daemon(_ owner: UnsafeMutableRawPointer) -> Daemon {
  unsafe Unmanaged<Daemon>.fromOpaque(owner).takeUnretainedValue()
}

private func acceptConnection(
  _ owner: UnsafeMutableRawPointer?, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t
) -> MHD_Result {
  guard let owner = unsafe owner else { return .NO }
  return unsafe daemon(owner).accepts(IPAddress(address)) ? .YES : .NO
}

private func noteConnection(
  _ owner: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
  guard let owner = unsafe owner, let connection = unsafe connection else { return }
  switch code {
  case .CONNECTION_NOTIFY_STARTED: unsafe daemon(owner).opened(connection)
  case .CONNECTION_NOTIFY_CLOSED: unsafe daemon(owner).closed(connection)
  }
}

/// What it returns is the context of all later calls for the request; ``completeRequest`` releases it.
private func beginRequest(
  _ owner: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let owner = unsafe owner, let connection = unsafe connection else { return nil }
  let text = unsafe target.map { unsafe String(cString: $0) } ?? ""
  return unsafe Unmanaged.passRetained(daemon(owner).began(connection, text)).toOpaque()
}

private func handleRequest(
  _ owner: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ path: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ data: UnsafePointer<CChar>?,
  _ count: UnsafeMutablePointer<Int>?, _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let owner = unsafe owner, let connection = unsafe connection, let method = unsafe method,
    let count = unsafe count, let exchange = unsafe context?.pointee
  else { return .NO }
  let piece = unsafe UnsafeRawBufferPointer(start: data, count: unsafe data == nil ? 0 : count.pointee)
  let result = unsafe daemon(owner).handle(
    Unmanaged<Exchange>.fromOpaque(exchange).takeUnretainedValue(), connection, method: String(cString: method),
    piece: piece)
  unsafe count.pointee = 0
  return result
}

private func completeRequest(
  _ owner: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ context: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ reason: MHD_RequestTerminationCode
) {
  guard let owner = unsafe owner, let connection = unsafe connection, let exchange = unsafe context?.pointee else {
    return
  }
  unsafe context?.pointee = nil
  unsafe Unmanaged<Exchange>.fromOpaque(exchange).release()
  unsafe daemon(owner).ended(connection)
}
