import EventLoop
import OpenSSL
import Operations

// From the name look-up to an HTTP/2 session: TCP, the proxy's tunnel if there is one, TLS, ALPN. One deadline for all.

extension ClientConnection {
  /// Begins to connect; reports to the origin in a later turn.
  func start(timeout: Duration) {
    let deadline = loop.now + timeout
    let proxy = origin.origin.proxy
    let connector = Connector(
      loop: loop, host: proxy?.host ?? origin.origin.host, port: proxy?.port ?? origin.origin.port, deadline: deadline,
      resolve: origin.engine.configuration.resolve
    ) { [weak self] result in self?.connected(result) }
    stage = .connecting(connector)
    // This timer is later in line than the connector's own.
    connectDeadline = loop.schedule(at: deadline) { [weak self] in self?.runOutOfTime() }
  }

  private func connected(_ result: Result<Socket, SocketError>) {
    switch (result, origin.origin.proxy) {
    case (.success(let socket), nil): secure(socket)
    case (.success(let socket), let proxy?): tunnel(socket, proxy)
    case (.failure(let error), nil): failToConnect(Self.failure(error, at: origin.endpoint))
    case (.failure(let error), let proxy?):
      failToConnect(
        HTTP2Failure(
          .proxyUnreachable, endpoint: origin.endpoint, reason: "the proxy \(proxy.endpoint): \(error.summary)",
          remedy: error.remedy))
    }
  }

  private func tunnel(_ socket: Socket, _ proxy: HTTP2Proxy) {
    let tunnel = ProxyTunnel(loop: loop, socket: socket, proxy: proxy, target: origin.endpoint) { [weak self] result in
      switch result {
      case .success(let socket): self?.secure(socket)
      case .failure(let failure): self?.failToConnect(failure)
      }
    }
    stage = .tunneling(tunnel)
    do {
      try tunnel.start()
    } catch {
      failToConnect(Self.failure(error, at: origin.endpoint))
    }
  }

  private func secure(_ socket: Socket) {
    do {
      let name = origin.endpoint
      let stream = try TLSStream(client: origin.origin.tls, host: origin.origin.host, socket: socket, peer: name)
      peer = (socket.peerAddress?.description ?? "") + (origin.origin.proxy == nil ? "" : " (proxy)")
      descriptor = socket.descriptor
      stage = .handshaking(stream)
      registration = try loop.register(descriptor, handler: self)
      shakeHands(stream)
    } catch let error as TLSError {
      failToConnect(failure(error))
    } catch let error as SocketError {
      failToConnect(Self.failure(error, at: origin.endpoint))
    } catch {
      failToConnect(HTTP2Failure(.connect, endpoint: origin.endpoint, reason: "\(error)"))
    }
  }

  func shakeHands(_ stream: TLSStream) {
    switch stream.handshake() {
    case .wantRead, .wantWrite: return
    case .failed(let error): failToConnect(failure(error))
    case .closed:
      failToConnect(
        HTTP2Failure(.tls, endpoint: origin.endpoint, reason: "the peer closed the connection" + throughProxy))
    case .bytes:
      guard stream.applicationProtocol == "h2" else {
        let offered = stream.applicationProtocol ?? "none"
        failToConnect(
          HTTP2Failure(
            .alpn, endpoint: origin.endpoint,
            reason: "the peer speaks TLS but does not agree to HTTP/2 (ALPN: \(offered))" + throughProxy,
            remedy: "check the port; HTTP/2 (h2) must be enabled there"))
        return
      }
      open(stream)
    }
  }

  private func open(_ stream: TLSStream) {
    guard let session = origin.makeSession(number: number, output: output) else {
      failToConnect(HTTP2Failure(.tls, endpoint: origin.endpoint, reason: "no memory for an HTTP/2 session"))
      return
    }
    if let timer = connectDeadline { loop.cancel(timer) }
    connectDeadline = nil
    tlsSummary = stream.summary
    lastReceived = loop.now
    session.now = loop.now.nanoseconds
    stage = .open(stream, session)
    origin.connected(self)
    // The peer's SETTINGS often come with its last handshake bytes, and no new edge announces them.
    if !isClosed { read() }
  }

  private func runOutOfTime() {
    connectDeadline = nil
    switch (stage, origin.origin.proxy) {
    case (.tunneling, let proxy?):
      failToConnect(
        HTTP2Failure(
          .proxyTimeout, endpoint: origin.endpoint,
          reason: "the proxy \(proxy.endpoint) accepted TCP but did not answer CONNECT in time"))
    case (.handshaking, _):
      giveUp("the peer accepted TCP but did not finish the TLS handshake in time" + throughProxy)
    default: giveUp("no connection in time")
    }
  }

  private func giveUp(_ reason: String) {
    failToConnect(
      HTTP2Failure(
        .connectTimeout, endpoint: origin.endpoint, reason: reason,
        remedy: "check the address, and whether a firewall or proxy lies between"))
  }

  /// Says that there is a proxy, in failures behind it: it may be the one who does not let TLS through untouched.
  private var throughProxy: String { origin.origin.proxy.map { ", through the proxy \($0.endpoint)" } ?? "" }

  private func failure(_ error: TLSError) -> HTTP2Failure {
    Self.failure(error, at: origin.endpoint, connecting: true, suffix: throughProxy)
  }

  private func failToConnect(_ failure: HTTP2Failure) {
    guard !isClosed else { return }
    release()
    origin.failedToConnect(self, failure)
  }
}
