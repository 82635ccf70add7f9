public import OpenSSL
public import Operations

/// A host that requests are sent to. Each origin has its own connections, even when two name the same host.
public struct HTTP2Origin: Sendable {
  /// A DNS name or an IP address; the certificate must be for it.
  public var host: String
  /// The TCP port.
  public var port: UInt16
  /// Whom to trust.
  public var tls: TLSContext
  /// The proxy on the way; nil = none.
  public var proxy: HTTP2Proxy?
  /// The most connections open for new streams at a time; at least 1.
  public var maximumConnections: Int
  /// How logs and metrics call it.
  public var label: String
  /// The longest wait between two attempts to connect; nil = that of the client.
  public var maximumBackoff: Duration?

  /// An origin by its parts.
  public init(
    host: String, port: UInt16, tls: TLSContext, proxy: HTTP2Proxy? = nil, maximumConnections: Int = 1,
    label: String = ""
  ) {
    self.proxy = proxy
    self.host = host
    self.port = port
    self.tls = tls
    self.maximumConnections = max(1, maximumConnections)
    self.label = label.isEmpty ? "\(host):\(port)" : label
  }
}

/// Names an origin within its client.
public struct HTTP2OriginID: Sendable, Hashable {
  let index: UInt32
}

/// The state of an origin at one moment.
public struct HTTP2OriginSnapshot: Sendable {
  /// The origin.
  public let id: HTTP2OriginID
  /// Its label.
  public let label: String
  /// `host:port`.
  public let endpoint: String
  /// Requests that wait for a stream.
  public let queuedRequests: Int
  /// Its connections, also those that come and go.
  public let connections: [HTTP2ConnectionSnapshot]
  /// The last failure of a connection.
  public let lastFailure: HTTP2Failure?
  /// The time before which no new connection is tried.
  public let retryNotBefore: MonotonicTime?
}

/// The state of a connection at one moment.
public struct HTTP2ConnectionSnapshot: Sendable {
  /// What a connection is doing.
  public enum Phase: String, Sendable {
    /// TCP or TLS is being established.
    case connecting
    /// It takes new streams.
    case ready
    /// It waits for the answers to its open streams.
    case draining
  }

  /// Its number, unique within the client.
  public let number: UInt32
  /// What it is doing.
  public let phase: Phase
  /// Streams that are open now.
  public let openStreams: Int
  /// The most streams allowed now.
  public let streamLimit: Int
  /// Whether the peer's SETTINGS have come.
  public let settingsReceived: Bool
  /// Requests that have been answered on it.
  public let answered: UInt64
  /// The peer's address; empty while connecting.
  public let peer: String
  /// TLS version and cipher; empty while connecting.
  public let tls: String
}
