import EventLoop

/// A response field that callers want to see.
public struct HTTP2WatchedField: Sendable, Hashable {
  /// The field's name, in lower case.
  public let name: String
  /// Whether it is wanted for answers with status 200 too; each such value costs an allocation.
  public let always: Bool

  /// A field to watch.
  public init(_ name: String, always: Bool) {
    self.name = name
    self.always = always
  }
}

/// How a client treats its connections. The defaults suit a server that answers within seconds.
public struct HTTP2ClientConfiguration: Sendable {
  /// The name of the loop's thread; the kernel shows 15 bytes.
  public var threadName = "http2-client"
  /// The response fields to report.
  public var watchedFields: [HTTP2WatchedField] = []
  /// The bytes of a response body that are kept; the rest is read and dropped.
  public var maximumResponseBodyBytes = 16_384
  /// The time for name look-up, TCP, the proxy's answer and TLS together.
  public var connectTimeout: Duration = .seconds(10)
  /// A connection that has received nothing for so long is asked for a sign of life by PING.
  public var pingInterval: Duration = .seconds(60)
  /// The time for the answer to a PING.
  public var pingTimeout: Duration = .seconds(15)
  /// Streams open at a time on one connection, when the peer allows more. 1 to 100,000.
  public var maximumStreamsPerConnection = 1000
  /// How often a request that was certainly not processed is sent again by the client itself.
  public var resubmissions: UInt8 = 3
  /// How long a connection is given no further stream after its peer refused one, unless an answer or SETTINGS come first;
  /// doubled while it refuses, up to eight times.
  public var refusalDelay: Duration = .milliseconds(100)
  /// How long requests wait for a connection whose peer allows no streams (SETTINGS_MAX_CONCURRENT_STREAMS 0, which RFC 9113
  /// section 6.5.2 wants for short durations only) before it is replaced.
  public var noStreamsTimeout: Duration = .seconds(20)
  /// Requests without an answer in a row after which a connection is replaced.
  public var timeoutsBeforeReplacement = 3
  /// Answers of 500 to 599 in a row after which a connection is replaced; 0 for never.
  public var serverErrorsBeforeReplacement = 20
  /// The least time between two such replacements at one origin, so that a sick server is not met with a connect storm.
  public var replacementInterval: Duration = .seconds(15)
  /// How long a connection that takes no new streams waits for the answers to its open ones.
  public var drainTimeout: Duration = .seconds(30)
  /// How long all connections must have been full before another one is opened.
  public var growAfter: Duration = .milliseconds(200)
  /// How long a connection beyond the first may be idle.
  public var extraConnectionIdleTimeout: Duration = .seconds(60)
  /// The wait after the first failed connect; doubled with each further one, with jitter.
  public var minimumBackoff: Duration = .seconds(1)
  /// The longest such wait.
  public var maximumBackoff: Duration = .seconds(60)
  /// Told of each connection's events, on the loop's thread; for logs. It must not block.
  public var onEvent: (@Sendable (HTTP2ConnectionEvent) -> Void)?

  /// Looks names up, for each connection anew; another one than the system's for tests.
  var resolve: NameResolution.Resolver = { NameResolution.resolve(host: $0, port: $1, deliver: $2) }
  /// The id of each connection's first stream; another one than 1 brings its end near, for tests.
  var firstStreamID: Int32 = 1

  /// The defaults.
  public init() {}
}

/// Something that happened to a connection.
public struct HTTP2ConnectionEvent: Sendable {
  /// The kinds of event.
  public enum Kind: Sendable {
    /// TLS and ALPN are agreed; with the peer's address and the TLS version and cipher.
    case connected(peer: String, tls: String)
    /// No connection came to be.
    case connectFailed(HTTP2Failure)
    /// The peer sent GOAWAY; with its error code and debug text.
    case goaway(code: UInt32, text: String)
    /// The client gives it no new streams; with the reason.
    case draining(String)
    /// It is closed; with the failure unless that was intended or idle.
    case closed(HTTP2Failure?)
  }

  /// The origin's label.
  public let origin: String
  /// The number of the connection, unique within the client.
  public let connection: UInt32
  /// What happened.
  public let kind: Kind
}
