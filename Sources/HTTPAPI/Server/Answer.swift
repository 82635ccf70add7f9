/// What a request is answered.
struct Answer: Sendable {
  /// The body of an answer.
  enum Body: Sendable {
    /// All of it.
    case bytes([UInt8])
    /// A piece at a time: called again when the last piece is written, nil ends the body. An error cuts the connection, so that
    /// the client cannot take a part for the whole.
    case pieces(@Sendable () async throws -> [UInt8]?)
  }

  /// The status code.
  var status: Int
  /// The fields beside those that every answer has.
  var fields: [(name: String, value: String)] = []
  /// The body.
  var body: Body = .bytes([])
  /// Whether the connection ends with this answer: what follows on it cannot be trusted, or is not wanted.
  var closes = false

  /// An answer without a body.
  init(status: Int) { self.status = status }

  /// An answer with a body of this media type.
  init(status: Int, type: String, _ body: [UInt8]) {
    self.status = status
    fields = [("Content-Type", type)]
    self.body = .bytes(body)
  }
}
