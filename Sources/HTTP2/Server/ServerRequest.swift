/// Where a header field lies in the bytes of its request or reply.
public struct ServerField: Sendable {
  let start: Int32
  let middle: Int32
  let end: Int32

  /// The bytes of the name.
  public var name: Range<Int> { Int(start)..<Int(middle) }
  /// The bytes of the value.
  public var value: Range<Int> { Int(middle)..<Int(end) }
}

/// One request that a server received whole, with the reply to it. The object is used again for a later stream, so a
/// handler copies what it keeps. Confined to the server's loop.
public final class ServerRequest {
  /// Where the stream is in its life.
  enum State {
    case receiving
    /// Received whole: with the handler, or waiting for its delay to pass.
    case waiting
    /// Nothing but the library's own work is left.
    case answered
  }

  /// The connection's number, from 1.
  public internal(set) var connection: UInt64 = 0
  /// Which of the server's listeners took the connection, from 0 in the order of ``HTTP2Server/listen(on:)``.
  public internal(set) var listener = 0
  /// The stream's identifier.
  public internal(set) var stream: Int32 = 0
  /// The names and values of all fields.
  public internal(set) var bytes: [UInt8] = []
  /// The fields in the order of the request, pseudo fields first, repeated fields each by themselves.
  public internal(set) var fields: [ServerField] = []
  /// The beginning of the body, at most ``ServerConfiguration/bodyLimitBytes``.
  public internal(set) var body: [UInt8] = []
  /// The size of the whole body.
  public internal(set) var bodyByteCount = 0
  /// How many streams were open on the connection when the request was complete, this one included.
  public internal(set) var openStreams = 0

  /// The size of the fields as RFC 9113 section 6.5.2 counts it for SETTINGS_MAX_HEADER_LIST_SIZE.
  var headerListByteCount = 0
  var state = State.receiving
  /// The stream was closed while its request was ``State/waiting``.
  var isGone = false
  var reply = ServerReply()
  /// How much of the reply's body the library has taken.
  var sentByteCount = 0

  init() {
    bytes.reserveCapacity(1024)
    fields.reserveCapacity(16)
    body.reserveCapacity(1024)
  }

  /// Makes the object ready for another stream.
  func begin(connection: UInt64, listener: Int, stream: Int32) {
    self.connection = connection
    self.listener = listener
    self.stream = stream
    bytes.removeAll(keepingCapacity: true)
    fields.removeAll(keepingCapacity: true)
    body.removeAll(keepingCapacity: true)
    bodyByteCount = 0
    headerListByteCount = 0
    state = .receiving
    isGone = false
    sentByteCount = 0
  }
}
