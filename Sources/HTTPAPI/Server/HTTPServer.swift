import EventLoop
import Operations

/// Serves HTTP at the listeners of the settings until it is stopped; open requests finish within the grace period.
public final class HTTPServer: Service {
  /// One address where HTTP is served.
  public struct Listener: Sendable {
    var address: HostPort
    var certificate: ServerCertificate?
    var surfaces: Set<Configuration.Surface>

    /// A listener by its parts.
    public init(address: HostPort, certificate: ServerCertificate?, surfaces: Set<Configuration.Surface>) {
      self.address = address
      self.certificate = certificate
      self.surfaces = surfaces
    }
  }

  /// How long a key that was found good is believed.
  public static let apiKeyTrust = KeyChecker.trust

  /// Where it listens, `host:port`, in the order of the listeners; any free port is shown as the one that was taken.
  public let addresses: [String]
  private let daemons: [Daemon]
  private let context: APIContext
  private let grace: Duration
  private let stopping: Flag

  /// Listens; answers from now on.
  ///
  /// - Throws: `SocketError` when an address cannot be taken or a certificate cannot be used.
  public init(
    _ listeners: [Listener], trustedProxies: [IPAddressRange], limits: Limits = Limits(), grace: Duration,
    context: APIContext
  ) throws {
    self.context = context
    self.grace = grace
    let stopping = Flag()
    self.stopping = stopping
    let keys = KeyChecker(context)
    let opened = try listeners.map { listener in
      let socket = try Socket.listen(host: listener.address.host, port: listener.address.port)
      let address = socket.localAddress?.description ?? listener.address.description
      let answerer = RequestAnswerer(
        context: context, router: Router(Routes.served(context.policy), surfaces: listener.surfaces), keys: keys,
        trustedProxies: trustedProxies, isStopping: { stopping.isSet })
      let daemon = try Daemon(
        socket: socket, tls: listener.certificate, limits: limits, trusted: trustedProxies,
        handler: answerer, clocks: context.clocks)
      let surfaces = Configuration.Surface.allCases.filter(listener.surfaces.contains).map(\.rawValue)
      context.logger.info(
        "listening",
        [
          "address": .string(address), "tls": .bool(listener.certificate != nil),
          "surfaces": .string(surfaces.joined(separator: ",")),
        ])
      if listener.certificate == nil, !listener.address.isLoopback {
        context.logger.warning(
          "plain HTTP on an address that others reach: API keys can be read on the way; add tls, or a proxy that has it",
          ["address": .string(address)])
      }
      return (daemon, address)
    }
    daemons = opened.map(\.0)
    addresses = opened.map(\.1)
  }

  /// Serves until ``stop()``, and ends connections that take too long meanwhile.
  public func run() async {
    await withTaskGroup { group in
      group.addTask { await self.stopping.wait() }
      group.addTask {
        while !Task.isCancelled {
          await self.context.clocks.sleep(until: self.context.clocks.monotonicTime() + .seconds(1))
          for daemon in self.daemons { daemon.endOverdue() }
        }
      }
      await group.next()
      group.cancelAll()
    }
    for daemon in daemons { daemon.quiesce() }
    let deadline = context.clocks.monotonicTime() + grace
    while daemons.contains(where: { $0.openRequestCount > 0 }), context.clocks.monotonicTime() < deadline,
      !Task.isCancelled
    {
      await context.clocks.sleep(until: min(context.clocks.monotonicTime() + .milliseconds(5), deadline))
    }
    for daemon in daemons { await daemon.stop() }
  }

  /// Asks for the end.
  public func stop() { stopping.set() }
}
