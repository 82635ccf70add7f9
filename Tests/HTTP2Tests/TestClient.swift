import HTTP2
import OpenSSL
import Operations
import Testing

/// A client whose responses can be waited for.
final class TestClient: Sendable {
  private struct State {
    var responses: [HTTP2Response] = []
    var waiter: (count: Int, continuation: CheckedContinuation<Void, Never>)?
  }

  let client: HTTP2Client
  let origin: HTTP2OriginID
  let events: Events
  private let state: Lock<State>

  /// The events that the client reported.
  final class Events: Sendable {
    private let list = Lock<[HTTP2ConnectionEvent]>([])
    func append(_ event: HTTP2ConnectionEvent) { list.withLock { $0.append(event) } }
    var all: [HTTP2ConnectionEvent] { list.withLock { $0 } }
  }

  init(
    port: UInt16, host: String = "localhost", tls: TLSContext? = nil, proxy: HTTP2Proxy? = nil, connections: Int = 1,
    configure: (inout HTTP2ClientConfiguration) -> Void = { _ in }
  ) throws {
    var configuration = HTTP2ClientConfiguration()
    configuration.watchedFields = [
      HTTP2WatchedField("apns-unique-id", always: true), HTTP2WatchedField("retry-after", always: false),
    ]
    let events = Events()
    configuration.onEvent = { events.append($0) }
    configure(&configuration)
    let state = Lock(State())
    self.state = state
    self.events = events
    client = try HTTP2Client(configuration: configuration) { responses in
      let ready = state.withLock { state -> CheckedContinuation<Void, Never>? in
        state.responses += responses
        guard let waiter = state.waiter, state.responses.count >= waiter.count else { return nil }
        state.waiter = nil
        return waiter.continuation
      }
      ready?.resume()
    }
    origin = client.addOrigin(
      HTTP2Origin(
        host: host, port: port, tls: try tls ?? Fixture.trust(), proxy: proxy, maximumConnections: connections))
  }

  /// Submits `count` requests as one batch; each path ends in its number.
  func submit(
    _ count: Int, id: UInt64 = 1, topic: String = "com.example.app", body: [UInt8] = Array(#"{"aps":{}}"#.utf8),
    notAfter: MonotonicTime = .distantFuture,
    responseTimeout: Duration = .seconds(20)
  ) throws {
    var batch = HTTP2RequestBatch(
      id: id, origin: origin, template: try .example(topic: topic, body: body), notAfter: notAfter,
      responseTimeout: responseTimeout)
    for number in 0..<count {
      batch.append(
        pathSuffix: Array("device-\(id)-\(number)".utf8),
        value: Array("00000000-0000-4000-8000-\(100_000 + number)".utf8))
    }
    client.submit(batch)
  }

  /// Waits until `count` responses have come in all, and returns all.
  func responses(_ count: Int) async -> [HTTP2Response] {
    await withCheckedContinuation { continuation in
      let ready = state.withLock { state in
        if state.responses.count >= count { return true }
        state.waiter = (count, continuation)
        return false
      }
      if ready { continuation.resume() }
    }
    return state.withLock { $0.responses }
  }

  /// What has come so far.
  var received: [HTTP2Response] { state.withLock { $0.responses } }

  func close(grace: Duration = .zero) async { await client.close(grace: grace) }
}

extension HTTP2Response {
  var status: UInt16? {
    if case .answered(let status, _, _) = outcome { status } else { nil }
  }
  var unsent: HTTP2Failure? {
    if case .unsent(let failure) = outcome { failure } else { nil }
  }
  var unanswered: HTTP2Failure? {
    if case .unanswered(let failure) = outcome { failure } else { nil }
  }
  /// Names the request.
  var name: String { "\(batch)/\(entry)" }
}

/// Each request that was submitted has exactly one response.
func expectEachOnce(
  _ responses: [HTTP2Response], _ count: Int, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(responses.count == count, sourceLocation: sourceLocation)
  #expect(Set(responses.map(\.name)).count == count, sourceLocation: sourceLocation)
}
