/// A SETTINGS parameter (RFC 9113 section 6.5.2) with its value.
public struct ServerSetting: Sendable, Equatable {
  /// The parameter's number on the wire.
  public var identifier: UInt16
  /// Its value.
  public var value: UInt32

  /// A parameter with its value.
  public init(identifier: UInt16, value: UInt32) {
    self.identifier = identifier
    self.value = value
  }

  /// How many streams the client may have open.
  public static func maxConcurrentStreams(_ count: UInt32) -> ServerSetting {
    ServerSetting(identifier: 3, value: count)
  }
  /// How many bytes the client may send on a new stream before it is told to go on.
  public static func initialWindowSize(_ bytes: UInt32) -> ServerSetting { ServerSetting(identifier: 4, value: bytes) }
  /// How large the fields of a request may be; the server keeps no more than its configuration says.
  public static func maxHeaderListSize(_ bytes: UInt32) -> ServerSetting { ServerSetting(identifier: 6, value: bytes) }
}

/// Something that a server does to a whole connection, in the order given.
public indirect enum ServerCommand: Sendable, Equatable {
  /// Sends SETTINGS.
  case settings([ServerSetting])
  /// Sends GOAWAY; `lastStream` nil names the last stream that was taken up. Later streams are ignored from then on. With
  /// `drains` the connection is closed once the streams up to that one are over.
  case goAway(lastStream: Int32?, errorCode: UInt32, debugData: [UInt8], drains: Bool = true)
  /// Sends RST_STREAM, also for a stream that is over already.
  case reset(stream: Int32, errorCode: UInt32)
  /// Sends PING.
  case ping
  /// Closes the connection once what was sent before is written.
  case close
  /// The same without TLS's farewell: with FIN, or with RST.
  case abandon(reset: Bool)
  /// Reads and writes nothing more and leaves the connection open, as a peer that lost its network does.
  case fallSilent
  /// Does the rest after a while.
  case later(Duration, [ServerCommand])
}

/// What a server does with one request: by default it answers 200 without fields and body, at once.
public struct ServerReply: Sendable {
  /// What becomes of the stream.
  public enum Outcome: Sendable, Equatable {
    /// ``ServerReply/status``, the fields and ``ServerReply/body``.
    case answer
    /// RST_STREAM with an error code.
    case reset(errorCode: UInt32)
    /// Status and fields; the stream is never ended.
    case fieldsOnly
    /// Nothing, ever.
    case silence
  }

  /// The most fields of an answer; further ones are dropped.
  static let fieldLimit = 16

  /// What becomes of the stream.
  public var outcome = Outcome.answer
  /// The status code, 200 to 999.
  public var status = 200
  /// The body; empty: the fields end the stream.
  public var body: [UInt8] = []
  /// How long the outcome and the commands wait.
  public var delay = Duration.zero
  /// The outcome waits until the connection has had that many requests, and then for ``delay``.
  public var heldUntilRequest = 0
  /// What is done to the connection just before the outcome.
  public var commandsBefore: [ServerCommand] = []
  /// What is done to the connection just after the outcome.
  public var commandsAfter: [ServerCommand] = []

  private(set) var bytes: [UInt8] = []
  private(set) var fields: [ServerField] = []

  /// Adds a field. It is sent as a literal that enters no compression table: the values differ from answer to answer.
  public mutating func addField(_ name: StaticString, _ value: Span<UInt8>) {
    guard fields.count < Self.fieldLimit else { return }
    let start = bytes.count
    bytes.append(name)
    let middle = bytes.count
    bytes.append(value)
    fields.append(ServerField(start: Int32(start), middle: Int32(middle), end: Int32(bytes.count)))
  }

  /// Adds a field with a text as value.
  public mutating func addField(_ name: StaticString, _ value: String) { addField(name, Array(value.utf8).span) }

  /// Adds a field whose name, in lower case, is no constant either.
  public mutating func addField(named name: String, _ value: String) {
    guard fields.count < Self.fieldLimit else { return }
    let start = bytes.count
    bytes += Array(name.utf8)
    let middle = bytes.count
    bytes += Array(value.utf8)
    fields.append(ServerField(start: Int32(start), middle: Int32(middle), end: Int32(bytes.count)))
  }

  /// Goes back to the default, keeping memory for the next answer.
  mutating func clear() {
    outcome = .answer
    status = 200
    delay = .zero
    heldUntilRequest = 0
    bytes.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    if !body.isEmpty { body = [] }
    if !commandsBefore.isEmpty { commandsBefore = [] }
    if !commandsAfter.isEmpty { commandsAfter = [] }
  }
}
