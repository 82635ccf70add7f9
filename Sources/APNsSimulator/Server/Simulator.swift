import EventLoop
import HTTP2
import OpenSSL
public import Operations

/// A running stand-in for APNs, on a thread of its own.
public final class Simulator: Sendable {
  /// An address that is listened on.
  public struct Address: Sendable, Equatable, CustomStringConvertible {
    /// Which of Apple's hosts it stands for.
    public let role: ListenerRole
    /// The host as configured; an IPv6 address without brackets.
    public let host: String
    /// The port, also when any was asked for.
    public let port: UInt16

    /// `HOST:PORT`.
    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
  }

  private enum Order {
    /// Ends the simulator; answers under way get that much time.
    case stop(grace: Duration)
  }

  private struct Places {
    var addresses: [Address]
    var control: Address?
  }

  /// Where it listens, in the order of the configuration.
  public let addresses: [Address]
  /// Where it is controlled, `HOST:PORT`; nil: nowhere.
  public let controlAddress: String?
  private let thread: LoopThread
  private let orders: Mailbox<Order>
  private let ledger: Lock<Ledger>

  /// Starts listening. Throws ``SimulatorError``.
  public static func start(
    _ configuration: SimulatorConfiguration, clocks: any Clocks = SystemClocks()
  ) async throws -> Simulator {
    let names = TLSDirectory.usualNames + configuration.tlsNames
    let now = clocks.wallTime()
    let folder = TLSDirectory(path: configuration.tlsDirectory)
    let certificates = try folder.prepare(names: configuration.tlsNames, now: now)
    let authorities = [folder.authorityFile] + [configuration.clientAuthorityFile].compactMap(\.self)
    let tls = TLSContexts(certificates, names: names, clientAuthorityFiles: authorities, now: now)
    let log = try openLog(configuration.logPath)
    let ledger = Lock(Ledger())
    let orders = try Mailbox<Order>()
    let thread = try LoopThread(name: "apns-simulator") { _ in }
    let places: Places = try await withCheckedThrowingContinuation { continuation in
      let runs = thread.execute { loop in
        let result = Result {
          try listen(on: loop, configuration, tls: tls, ledger: ledger, log: log, clocks: clocks, orders: orders)
        }
        if case .failure = result { loop.stop() }
        continuation.resume(with: result)
      }
      if !runs { continuation.resume(throwing: SimulatorError(.listener, "the simulator's thread has ended")) }
    }
    return Simulator(
      addresses: places.addresses, controlAddress: places.control?.description, thread: thread, orders: orders,
      ledger: ledger)
  }

  private init(
    addresses: [Address], controlAddress: String?, thread: LoopThread, orders: Mailbox<Order>, ledger: Lock<Ledger>
  ) {
    self.addresses = addresses
    self.controlAddress = controlAddress
    self.thread = thread
    self.orders = orders
    self.ledger = ledger
  }

  /// What happened so far.
  public var summary: Summary { ledger.withLock { $0.summary } }

  /// Says GOAWAY on every connection, gives answers under way some time, and returns what happened when all is closed.
  public func stop(grace: Duration = .seconds(5)) async -> Summary {
    orders.send(.stop(grace: grace))
    await thread.ended()
    return summary
  }

  private static func openLog(_ path: String?) throws(SimulatorError) -> RequestLog? {
    guard let path else { return nil }
    do {
      return try RequestLog(path: path)
    } catch {
      throw SimulatorError(.log, "--log: \(error)")
    }
  }

  /// Everything that lives on the loop; it keeps the server, and the server keeps the handler.
  private static func listen(
    on loop: EventLoop, _ configuration: SimulatorConfiguration, tls: TLSContexts, ledger: Lock<Ledger>,
    log: RequestLog?, clocks: any Clocks, orders: Mailbox<Order>
  ) throws -> Places {
    var tls = tls
    let usual = try tls.context()
    let judging =
      configuration.isPlain ? nil : JudgingHandler(configuration, tls: tls, ledger: ledger, log: log, clocks: clocks)
    let handler: any ServerHandler =
      judging ?? CountingHandler(ledger: ledger, answerDelay: configuration.answerDelay, clocks: clocks)
    let streams: UInt32 = configuration.checks ? 1 : JudgingHandler.raisedStreamLimit
    var limits = ServerConfiguration(settings: [.maxConcurrentStreams(streams)])
    limits.answersEarly = judging != nil
    let server = HTTP2Server(loop: loop, tls: usual, configuration: limits, handler: handler)
    let addresses = try configuration.listeners.map { try listen($0, server) }
    var control: Address?
    if let listener = configuration.control, let judging {
      control = try listen(
        listener, ControlActions(server: server, handler: judging, ledger: ledger), on: loop)
    }
    try loop.attach(orders) { orders in
      for case .stop(let grace) in orders {
        server.shutDown(within: grace, debugData: Array(#"{"reason":"Shutdown"}"#.utf8)) { loop.stop() }
      }
    }
    return Places(addresses: addresses, control: control)
  }

  private static func listen(
    _ listener: SimulatorConfiguration.Listener, _ server: HTTP2Server
  ) throws(SimulatorError) -> Address {
    try listen(listener) { socket throws(SocketError) in try server.listen(on: socket) }
  }

  private static func listen(
    _ listener: SimulatorConfiguration.Listener, _ actions: ControlActions, on loop: EventLoop
  ) throws(SimulatorError) -> Address {
    try listen(listener) { socket throws(SocketError) in
      try ControlListener(loop: loop, socket: socket, actions: actions).start()
    }
  }

  private static func listen(
    _ listener: SimulatorConfiguration.Listener, _ use: (Socket) throws(SocketError) -> Void
  ) throws(SimulatorError) -> Address {
    do {
      let socket = try Socket.listen(host: listener.host, port: listener.port)
      try use(socket)
      return Address(
        role: listener.role, host: listener.host, port: socket.localAddress?.port ?? listener.port)
    } catch {
      throw SimulatorError(.listener, "\(error)")
    }
  }
}
