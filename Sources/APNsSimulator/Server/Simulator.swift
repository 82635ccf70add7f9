import EventLoop
import HTTP2
import OpenSSL
public import Operations

/// A running stand-in for APNs, on a thread of its own.
public final class Simulator: Sendable {
  /// An address that is listened on.
  public struct Address: Sendable, Equatable, CustomStringConvertible {
    /// Which system it stands for.
    public let environment: Environment
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

  /// Where it listens, in the order of the configuration.
  public let addresses: [Address]
  private let thread: LoopThread
  private let orders: Mailbox<Order>
  private let ledger: Lock<Ledger>

  /// Starts listening. Throws ``SimulatorError``.
  public static func start(
    _ configuration: SimulatorConfiguration, clocks: any Clocks = SystemClocks()
  ) async throws -> Simulator {
    let folder = TLSDirectory(path: configuration.tlsDirectory)
    try folder.prepare(names: configuration.tlsNames, now: clocks.wallTime())
    let tls = try folder.serverContext()
    let log = try openLog(configuration.logPath)
    let ledger = Lock(Ledger())
    let orders = try Mailbox<Order>()
    let thread = try LoopThread(name: "apns-simulator") { _ in }
    let addresses = try await withCheckedThrowingContinuation { continuation in
      let runs = thread.execute { loop in
        let result = Result {
          try listen(on: loop, configuration, tls: tls, ledger: ledger, log: log, clocks: clocks, orders: orders)
        }
        if case .failure = result { loop.stop() }
        continuation.resume(with: result)
      }
      if !runs { continuation.resume(throwing: SimulatorError(.listener, "the simulator's thread has ended")) }
    }
    return Simulator(addresses: addresses, thread: thread, orders: orders, ledger: ledger)
  }

  private init(addresses: [Address], thread: LoopThread, orders: Mailbox<Order>, ledger: Lock<Ledger>) {
    self.addresses = addresses
    self.thread = thread
    self.orders = orders
    self.ledger = ledger
  }

  /// What happened so far.
  public var summary: Summary { ledger.withLock { $0.summary } }

  /// Says GOAWAY on every connection, gives answers under way some time, and returns what happened when all is closed.
  public func stop(grace: Duration = .seconds(1)) async -> Summary {
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
    on loop: EventLoop, _ configuration: SimulatorConfiguration, tls: TLSContext, ledger: Lock<Ledger>,
    log: RequestLog?, clocks: any Clocks, orders: Mailbox<Order>
  ) throws -> [Address] {
    let isPlain = !configuration.checks && log == nil
    let handler: any ServerHandler =
      isPlain
      ? CountingHandler(ledger: ledger, answerDelay: configuration.answerDelay)
      : JudgingHandler(configuration, ledger: ledger, log: log, clocks: clocks)
    let streams: UInt32 = configuration.checks ? 1 : JudgingHandler.raisedStreamLimit
    let server = HTTP2Server(
      loop: loop, tls: tls, configuration: ServerConfiguration(settings: [.maxConcurrentStreams(streams)]),
      handler: handler)
    let addresses = try configuration.listeners.map { try listen($0, server) }
    try loop.attach(orders) { orders in
      for case .stop(let grace) in orders {
        server.shutDown(within: grace, debugData: Array(#"{"reason":"Shutdown"}"#.utf8)) { loop.stop() }
      }
    }
    return addresses
  }

  private static func listen(
    _ listener: SimulatorConfiguration.Listener, _ server: HTTP2Server
  ) throws(SimulatorError) -> Address {
    do {
      let socket = try Socket.listen(host: listener.host, port: listener.port)
      try server.listen(on: socket)
      return Address(
        environment: listener.environment, host: listener.host, port: socket.localAddress?.port ?? listener.port)
    } catch {
      throw SimulatorError(.listener, "\(error)")
    }
  }
}
