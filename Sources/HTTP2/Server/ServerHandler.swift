/// What a client did that HTTP/2 or the server's settings do not allow.
public enum ServerViolation: Sendable, Equatable {
  /// More streams at once than SETTINGS_MAX_CONCURRENT_STREAMS, which the client had acknowledged.
  case concurrentStreams
  /// More streams at once than that, before the client acknowledged the settings.
  case streamsBeforeSettings
  /// Fields larger than SETTINGS_MAX_HEADER_LIST_SIZE; answered with 431, never handed to the handler.
  case headerListSize
  /// No TLS connection, or none on which both speak `h2`.
  case handshake
  /// Another frame or message that RFC 9113 does not allow.
  case protocolError
}

/// Who decides what a server answers. Called on the server's loop; never blocks it.
public protocol ServerHandler: AnyObject {
  /// A connection has finished its handshake.
  func connectionOpened(_ connection: UInt64)
  /// A connection of ``connectionOpened(_:)`` is over.
  func connectionClosed(_ connection: UInt64)
  /// A request has been received whole: fill in the reply.
  func received(_ request: ServerRequest, reply: inout ServerReply)
  /// A client broke a rule; the server has reacted.
  func violated(_ violation: ServerViolation, connection: UInt64)
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
