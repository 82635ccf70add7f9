/// How one request of a batch ended. Every submitted request ends exactly once.
public struct HTTP2Response: Sendable {
  /// The three kinds of end. Only ``unsent(_:)`` may be resent without thinking.
  public enum Outcome: Sendable {
    /// The peer's final answer. The body is cut at the configured length; the fields are the watched ones.
    case answered(status: UInt16, body: [UInt8], fields: [HTTP2FieldValue])
    /// Certainly not processed by the peer: never written, refused, or beyond GOAWAY's last stream.
    case unsent(HTTP2Failure)
    /// Perhaps processed by the peer: the answer is lost.
    case unanswered(HTTP2Failure)
  }

  /// The id that the caller gave the batch.
  public let batch: UInt64
  /// The number of the request within its batch, from 0.
  public let entry: UInt32
  /// The number of the connection it was last sent on; 0 when it never reached one.
  public let connection: UInt32
  /// Nanoseconds from giving the request to a connection until its end; 0 when it never reached one.
  public let latencyNanoseconds: UInt64
  /// How it ended.
  public let outcome: Outcome

  /// ``latencyNanoseconds`` as a duration.
  public var latency: Duration { .nanoseconds(Int64(clamping: latencyNanoseconds)) }

  /// A response by its parts.
  public init(batch: UInt64, entry: UInt32, connection: UInt32, latencyNanoseconds: UInt64, outcome: Outcome) {
    self.batch = batch
    self.entry = entry
    self.connection = connection
    self.latencyNanoseconds = latencyNanoseconds
    self.outcome = outcome
  }
}

/// A watched field of an answer.
public struct HTTP2FieldValue: Sendable, Hashable {
  /// The field's name, in lower case.
  public let name: String
  /// The field's value; bytes that are not UTF-8 are replaced.
  public let value: String

  /// A field by its parts.
  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}
