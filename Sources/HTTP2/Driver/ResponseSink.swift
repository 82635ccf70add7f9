/// Collects what ended in a turn of the loop, for all connections of a client.
final class ResponseSink {
  private var responses: [HTTP2Response] = []
  private var lastCount = 0

  func append(_ response: HTTP2Response) { responses.append(response) }

  /// Takes what has been collected.
  func take() -> [HTTP2Response] {
    guard !responses.isEmpty else { return [] }
    let taken = responses
    // The next turn is likely to be like this one: one allocation instead of many.
    responses = []
    responses.reserveCapacity(min(taken.count, 4096))
    return taken
  }
}
