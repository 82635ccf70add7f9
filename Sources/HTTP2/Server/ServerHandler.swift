public import OpenSSL

/// What a client did that HTTP/2 or the server's settings do not allow.
public enum ServerViolation: Sendable, Equatable {
  /// More streams at once than SETTINGS_MAX_CONCURRENT_STREAMS, which the client had acknowledged.
  case concurrentStreams
  /// More streams at once than that, before the client acknowledged the first settings.
  case streamsBeforeSettings
  /// A request after the client had the connection's GOAWAY: it has answered the PING before it.
  case afterGoAway
  /// Fields larger than SETTINGS_MAX_HEADER_LIST_SIZE; answered with 431, never handed to the handler.
  case headerListSize
  /// No TLS connection, or none on which both speak `h2`, and the greeting had not spoiled the handshake.
  case handshake
  /// A handshake completed with ``ServerGreeting/tls`` that no client may accept.
  case acceptedBadTLS
  /// Another frame or message that RFC 9113 does not allow.
  case protocolError
}

/// How a server treats a new connection.
public struct ServerGreeting: Sendable {
  /// The connection is closed at once.
  public var refuses = false
  /// TLS in place of the server's own, to spoil the handshake; the client is not to blame for what comes of it.
  public var tls: TLSContext?
  /// Whether that TLS is such that no client may accept it.
  public var isTLSBad = false
  /// How long the handshake waits; the client is not to blame for giving up.
  public var handshakeDelay = Duration.zero
  /// Parameters of the first SETTINGS in place of the configuration's.
  public var settings: [ServerSetting] = []
  /// How long they, and with them everything else, wait after the handshake; nil: for ever.
  public var settingsDelay: Duration? = .zero
  /// Whether the client gets WINDOW_UPDATE.
  public var updatesWindows = true
  /// Whether the server falls silent right after the handshake and its settings.
  public var fallsSilent = false
  /// What is done to the connection right behind its first SETTINGS.
  public var commands: [ServerCommand] = []

  /// A usual connection.
  public init() {}

  /// Whether a failed handshake may be the server's doing.
  var spoilsHandshake: Bool { tls != nil || handshakeDelay > .zero }
}

/// Who decides what a server answers. Called on the server's loop; never blocks it.
public protocol ServerHandler: AnyObject {
  /// A connection has been accepted: how to treat it.
  func greeting(for connection: UInt64, listener: Int) -> ServerGreeting
  /// A client has presented a certificate: what that changes in the greeting. Before ``connectionOpened(_:)``.
  func identified(
    _ connection: UInt64, listener: Int, by certificate: PeerCertificate, greeting: inout ServerGreeting)
  /// A connection has finished its handshake.
  func connectionOpened(_ connection: UInt64)
  /// A connection of ``connectionOpened(_:)`` is over.
  func connectionClosed(_ connection: UInt64)
  /// A client has opened streams: the most that it had open at once since the last call.
  func opened(streams: Int, connection: UInt64)
  /// A request has been received whole: fill in the reply.
  func received(_ request: ServerRequest, reply: inout ServerReply)
  /// A GOAWAY leaves out a request of ``received(_:reply:)`` before its answer: to the client it was not processed.
  func leftOut(_ request: ServerRequest, reply: ServerReply)
  /// The fields of a request are there, its body is not yet: whether ``received(_:reply:)`` shall have it now. Asked only
  /// with ``ServerConfiguration/answersEarly``.
  func answersEarly(_ request: ServerRequest) -> Bool
  /// A client broke a rule; the server has reacted.
  func violated(_ violation: ServerViolation, connection: UInt64)
}

extension ServerHandler {
  /// Treats every connection alike.
  public func greeting(for connection: UInt64, listener: Int) -> ServerGreeting { ServerGreeting() }
  /// Takes no notice.
  public func opened(streams: Int, connection: UInt64) {}
  /// Does not matter.
  public func leftOut(_ request: ServerRequest, reply: ServerReply) {}
  /// Takes no notice.
  public func identified(
    _ connection: UInt64, listener: Int, by certificate: PeerCertificate, greeting: inout ServerGreeting
  ) {}
  /// Waits for the body.
  public func answersEarly(_ request: ServerRequest) -> Bool { false }
}

/// What a server allows.
public struct ServerConfiguration: Sendable {
  /// The SETTINGS that each connection begins with.
  public var settings: [ServerSetting]
  /// The largest fields of a request, as RFC 9113 section 6.5.2 counts them, in bytes; sent as a setting too.
  public var headerListLimitBytes: Int
  /// How much of a body is kept; the rest is counted and dropped.
  public var bodyLimitBytes: Int
  /// How long a client may take for the TLS handshake.
  public var handshakeTimeout: Duration
  /// Whether the handler is asked about requests whose body is still to come.
  public var answersEarly = false

  /// A server's limits.
  public init(
    settings: [ServerSetting], headerListLimitBytes: Int = 8000, bodyLimitBytes: Int = 65536,
    handshakeTimeout: Duration = .seconds(10)
  ) {
    self.settings = settings
    self.headerListLimitBytes = headerListLimitBytes
    self.bodyLimitBytes = bodyLimitBytes
    self.handshakeTimeout = handshakeTimeout
  }
}
