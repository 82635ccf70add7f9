import Operations

// What time and the client's owner ask of an origin.

extension OriginEngine {
  /// Looks at all deadlines.
  func tick() {
    if queue.count > 0 {
      for request in queue.popExpired(now.nanoseconds) { end(request, .unsent(deadlineFailure)) }
    }
    for connection in connections {
      connection.tick(pingInterval: engine.configuration.pingInterval, pingTimeout: engine.configuration.pingTimeout)
    }
    if !connectWaiters.isEmpty, connections.isEmpty { connectForWaiters() }
    if let number = pool.surplus(now: now), let connection = connection(number), pool.drain(number) {
      connection.finish(nil)
    }
    fill()
  }

  private func connectForWaiters() {
    switch pool.demand(now: now) {
    case .satisfied, .wait, .replace: return
    case .connect: connect()
    case .refuse: tellWaiters(lastFailure)
    }
  }

  /// When ``tick()`` must run again; nil when there is nothing to watch.
  func nextTick(interval: Duration) -> MonotonicTime? {
    if queue.count > 0 { return min(now + interval, pool.nextTrial ?? .distantFuture) }
    if !connectWaiters.isEmpty, connections.isEmpty { return now + interval }
    var next: MonotonicTime?
    for connection in connections {
      guard let session = connection.session else { continue }
      let busy = session.openStreams > 0 || connection.drainDeadline != nil
      let time =
        busy ? now + interval : connection.nextIdleTick(pingInterval: engine.configuration.pingInterval)
      next = min(next ?? time, time)
    }
    // An idle connection beyond the first is closed by a tick, too.
    if connections.count > 1, let time = next { next = min(time, now + .seconds(5)) }
    return next
  }

  /// Gives back what waits for a stream.
  func withdraw() {
    endQueue(HTTP2Failure(.withdrawn, endpoint: endpoint, reason: "the request was withdrawn before it was sent"))
  }

  func replaceConnections() {
    for connection in connections {
      if connection.session == nil {
        connection.finish(nil)
      } else {
        drain(connection, "it is being replaced")
        progressed(connection)
      }
    }
    fill()
  }

  /// Ends waiting requests, and connections as soon as they are idle or `grace` is over.
  func close(grace: Duration) {
    isClosing = true
    endQueue(closingFailure)
    tellWaiters(closingFailure)
    for connection in connections {
      guard let session = connection.session else {
        connection.finish(nil)
        continue
      }
      _ = pool.drain(connection.number)
      connection.drainDeadline = now + grace
      if session.openStreams == 0 || grace <= .zero { connection.finish(closingFailure) }
    }
  }

  /// Opens a connection if there is none and tells when one is open or why not.
  func connect(_ waiter: @escaping @Sendable (HTTP2Failure?) -> Void) {
    if connections.contains(where: { $0.session != nil && $0.drainDeadline == nil }) { return waiter(nil) }
    if isClosing { return waiter(closingFailure) }
    switch pool.demand(now: now) {
    case .satisfied, .wait, .replace: connectWaiters.append(waiter)
    case .connect:
      connectWaiters.append(waiter)
      connect()
    case .refuse: waiter(lastFailure)
    }
  }

  func snapshot() -> HTTP2OriginSnapshot {
    HTTP2OriginSnapshot(
      id: id, label: origin.label, endpoint: endpoint, queuedRequests: queue.count,
      connections: connections.map { connection in
        let session = connection.session
        return HTTP2ConnectionSnapshot(
          number: connection.number,
          phase: session == nil ? .connecting : connection.drainDeadline == nil ? .ready : .draining,
          openStreams: session?.openStreams ?? 0, streamLimit: session?.streamLimit ?? 0,
          settingsReceived: session?.settingsReceived ?? false, answered: session?.answered ?? 0,
          peer: connection.peer, tls: connection.tlsSummary)
      }, lastFailure: lastFailure, retryNotBefore: pool.backoff.notBefore)
  }
}
