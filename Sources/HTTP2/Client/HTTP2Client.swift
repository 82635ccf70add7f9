public import EventLoop
import Operations

/// An HTTP/2 client for many small requests: batches in, responses out, one loop thread behind it.
///
/// Every request of every submitted batch ends exactly once, in a call of `onResponses`. The client opens, fills, watches and
/// replaces connections by itself (RFC 9113); what was certainly not processed it sends again elsewhere, a few times. The
/// caller bounds what is in flight: the client queues whatever is submitted. Two batches of 1000 keep a connection busy.
///
/// All methods may be called from any thread. A client that is released without ``close(grace:)`` closes as with no grace, and
/// `onResponses` may be called for a moment after that.
public final class HTTP2Client: Sendable {
  private let mailbox: Mailbox<ClientMessage>
  private let thread: LoopThread
  private let onResponses: @Sendable ([HTTP2Response]) -> Void
  private let lastOrigin = Lock<UInt32>(0)

  /// Starts the client's thread. Fails only when the system has no descriptors, threads or memory left.
  ///
  /// - Parameter onResponses: called with everything that ended in a turn of the loop, on the loop's thread, at most once a
  ///   turn; it must not block. For a batch submitted after ``close(grace:)`` it is called by ``submit(_:)`` itself.
  public init(
    configuration: HTTP2ClientConfiguration, onResponses: @escaping @Sendable ([HTTP2Response]) -> Void
  ) throws(SocketError) {
    let mailbox = try Mailbox<ClientMessage>()
    self.mailbox = mailbox
    self.onResponses = onResponses
    thread = try LoopThread(name: configuration.threadName) { loop in
      ClientEngine(loop: loop, configuration: configuration, mailbox: mailbox, onResponses: onResponses).start()
    }
  }

  deinit { mailbox.send(.close(.zero)) }

  /// Adds an origin. Its first connection is opened for its first batch, or by ``connect(_:)``.
  public func addOrigin(_ origin: HTTP2Origin) -> HTTP2OriginID {
    let id = lastOrigin.withLock { last in
      last += 1
      return HTTP2OriginID(index: last)
    }
    mailbox.send(.addOrigin(origin, id))
    return id
  }

  /// Removes an origin: its waiting requests come back unsent, its open ones get the time of `drainTimeout`.
  public func removeOrigin(_ origin: HTTP2OriginID) { mailbox.send(.removeOrigin(origin)) }

  /// Sends the requests of a batch. Never blocks.
  public func submit(_ batch: HTTP2RequestBatch) {
    guard !mailbox.send(.batch(batch)), batch.count > 0 else { return }
    onResponses(batch.allUnsent(HTTP2Failure(.closing, endpoint: "", reason: "the client is closed")))
  }

  /// Gives the present connections of an origin no further streams and closes them when their open ones have ended; the
  /// next request opens a new connection.
  public func replaceConnections(of origin: HTTP2OriginID) { mailbox.send(.replaceConnections(origin)) }

  /// Gives back what waits for a stream, unsent; open requests go on. Nil = of every origin.
  public func withdraw(_ origin: HTTP2OriginID? = nil) { mailbox.send(.withdraw(origin)) }

  /// Opens a connection to an origin that has none. Returns nil when one is established, or why not.
  public func connect(_ origin: HTTP2OriginID) async -> HTTP2Failure? {
    await withCheckedContinuation { continuation in
      if !mailbox.send(.connect(origin, { continuation.resume(returning: $0) })) {
        continuation.resume(returning: HTTP2Failure(.closing, endpoint: "", reason: "the client is closed"))
      }
    }
  }

  /// The state of all origins.
  public func snapshot() async -> [HTTP2OriginSnapshot] {
    await withCheckedContinuation { continuation in
      if !mailbox.send(.snapshot({ continuation.resume(returning: $0) })) { continuation.resume(returning: []) }
    }
  }

  /// Asks what the client holds; ``ClientLoad``.
  func load(_ tell: @escaping @Sendable (ClientLoad) -> Void) { mailbox.send(.load(tell)) }

  /// Ends the client: waiting requests come back unsent at once, open ones may still be answered within `grace`, then the
  /// connections are closed with GOAWAY. All responses have been delivered when it returns.
  public func close(grace: Duration) async {
    mailbox.send(.close(grace))
    await thread.ended()
  }
}

extension HTTP2RequestBatch {
  /// A response for each request, for a batch that was never taken.
  func allUnsent(_ failure: HTTP2Failure) -> [HTTP2Response] {
    (0..<UInt32(count)).map {
      HTTP2Response(batch: id, entry: $0, connection: 0, latencyNanoseconds: 0, outcome: .unsent(failure))
    }
  }
}
