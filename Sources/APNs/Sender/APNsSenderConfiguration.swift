import HTTP2
import Operations
import PushCore

/// How the sender reaches APNs.
public struct APNsSenderConfiguration: Sendable {
  /// The production service.
  public var production = HostPort(host: "api.push.apple.com", port: 443)
  /// The sandbox service.
  public var sandbox = HostPort(host: "api.sandbox.push.apple.com", port: 443)
  /// The proxy to production; nil = directly.
  public var productionProxy: ProxyLocation?
  /// The proxy to the sandbox; nil = directly.
  public var sandboxProxy: ProxyLocation?
  /// A PEM file of certificate authorities to trust beside the system's.
  public var authoritiesFile: String?
  /// The most connections for each key and environment; the urgent lane has one more of its own.
  public var connections = 2
  /// How long an answer is waited for.
  public var requestTimeout = Duration.seconds(20)
  /// How long name look-up, TCP and TLS may take together.
  public var connectTimeout = Duration.seconds(10)
  /// How long a connection is quiet before it is asked for a sign of life.
  public var pingInterval = Duration.seconds(60)
  /// Told of each connection's events, on the sender's thread; must not block.
  public var onEvent: (@Sendable (HTTP2ConnectionEvent) -> Void)?

  /// Apple's services.
  public init() {}

  /// What the settings say.
  /// - Throws: ``Operations/ConfigurationError`` when a service is to be reached through a proxy that cannot be used.
  public init(_ settings: Configuration.APNs) throws(ConfigurationError) {
    production = settings.production
    sandbox = settings.sandbox
    productionProxy = try settings.proxy(for: settings.production)
    sandboxProxy = try settings.proxy(for: settings.sandbox)
    authoritiesFile = settings.authoritiesFile
    connections = settings.connections
    requestTimeout = settings.requestTimeout
    pingInterval = settings.pingInterval
  }

  /// The service of an environment.
  public func host(for environment: PushCore.Environment) -> HostPort {
    switch environment {
    case .production: production
    case .sandbox: sandbox
    }
  }

  func proxy(for environment: PushCore.Environment) -> HTTP2Proxy? {
    let proxy =
      switch environment {
      case .production: productionProxy
      case .sandbox: sandboxProxy
      }
    return proxy.map { proxy in
      HTTP2Proxy(
        host: proxy.address.host, port: proxy.address.port,
        credentials: proxy.credentials.map { ($0.user, $0.password.reveal()) })
    }
  }

  var client: HTTP2ClientConfiguration {
    var client = HTTP2ClientConfiguration()
    client.threadName = "apns-sender"
    client.watchedFields = [
      HTTP2WatchedField(ResponseReader.retryAfter, always: false),
      // Only the sandbox sends it.
      HTTP2WatchedField(AnswerReader.uniqueID, always: true),
    ]
    client.maximumResponseBodyBytes = 4096
    client.pingInterval = pingInterval
    client.connectTimeout = connectTimeout
    client.noStreamsTimeout = requestTimeout
    client.onEvent = onEvent
    return client
  }
}
