import HTTP2
import Operations

/// Makes log lines and metrics of what happens to connections.
struct ConnectionLog: Sendable {
  let logger: Logger
  let metrics: Metrics

  /// Takes one event.
  func note(_ event: HTTP2ConnectionEvent) {
    let log = logger.with(["connection.id": .count(event.connection), "connection.origin": .string(event.origin)])
    switch event.kind {
    case .connected(let peer, let tls):
      metrics.add(to: .connectionsOpened)
      metrics.add(to: .connectionsOpen)
      log.info("connected to APNs", ["peer": .string(peer), "tls": .string(tls)])
    case .connectFailed(let failure):
      metrics.add(to: .connectionFailures)
      log.debug("no connection to APNs", ["error": .describing(failure)])
    case .goaway(let code, let text):
      metrics.add(to: .goAwaysReceived)
      log.info(
        "APNs ends the connection", ["http2.error": .string(HTTP2ErrorCode.name(code)), "debug.data": .string(text)])
    case .draining(let reason): log.info("connection takes no new streams", ["reason": .string(reason)])
    case .closed(let failure):
      metrics.add(-1, to: .connectionsOpen)
      if let failure {
        log.warning("connection lost", ["error": .describing(failure)])
      } else {
        log.debug("connection closed")
      }
    }
  }
}
