import EventLoop

/// Asks a proxy for a tunnel to an origin over a connected socket. Reports once, unless it is canceled first; the socket is
/// then free of the loop, and all that the proxy said has been read from it.
///
/// Confined to the loop's thread.
final class ProxyTunnel: EventHandler {
  private let loop: EventLoop
  private let socket: Socket
  private let proxy: HTTP2Proxy
  private let target: String
  private var request: ArraySlice<UInt8>
  private var answer = ConnectAnswer()
  private var registration: RegistrationID?
  private var report: ((Result<Socket, HTTP2Failure>) -> Void)?

  /// - Parameter target: `host:port` of the origin.
  init(
    loop: EventLoop, socket: Socket, proxy: HTTP2Proxy, target: String,
    report: @escaping (Result<Socket, HTTP2Failure>) -> Void
  ) {
    self.loop = loop
    self.socket = socket
    self.proxy = proxy
    self.target = target
    self.report = report
    var text = "CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n"
    if let authorization = proxy.authorization { text += "Proxy-Authorization: \(authorization.reveal())\r\n" }
    request = Array((text + "\r\n").utf8)[...]
  }

  /// Begins; may report at once.
  func start() throws(SocketError) {
    registration = try loop.register(socket.descriptor, handler: self)
    write()
  }

  /// Gives up silently and closes the socket.
  func cancel() {
    report = nil
    leave()
    socket.close()
  }

  func ready(_ readiness: Readiness) {
    write()
    read()
  }

  private func write() {
    while report != nil, !request.isEmpty {
      switch socket.write(request) {
      case .bytes(let count): request.removeFirst(count)
      case .wouldBlock: return
      // A proxy that has answered and closed is heard by reading.
      case .closed, .failed: return request.removeAll()
      }
    }
  }

  private func read() {
    while report != nil {
      let (io, bytes) = socket.receive(atMost: ConnectAnswer.limit)
      switch io {
      case .bytes: take(bytes)
      case .wouldBlock: return
      case .closed:
        finish(.failure(failure(.proxyAnswer, "the proxy \(proxy.endpoint) closed the connection without an answer")))
      case .failed(let error):
        finish(.failure(failure(.proxyAnswer, "the proxy \(proxy.endpoint) broke the connection: \(error.reason)")))
      }
    }
  }

  private func take(_ bytes: [UInt8]) {
    switch answer.take(bytes) {
    case .incomplete: return
    case .open: finish(.success(socket))
    case .garbage(let what):
      finish(.failure(failure(.proxyAnswer, "\(proxy.endpoint) gives no answer of an HTTP proxy: \(what)")))
    // 401 is for servers, but tinyproxy says it of wrong credentials.
    case .refused(let status, let text, let schemes) where status == 407 || status == 401:
      finish(.failure(unauthenticated("\(status) \(text)", schemes)))
    case .refused(let status, let text, _):
      finish(.failure(failure(.proxyRefused(status), "\(proxy.endpoint) answers CONNECT with \(status) \(text)")))
    }
  }

  private func unauthenticated(_ answer: String, _ schemes: [String]) -> HTTP2Failure {
    var reason = "\(proxy.endpoint) answers CONNECT with \(answer)"
    reason += proxy.authorization == nil ? "; no name and password were given" : "; the name or the password is wrong"
    if !schemes.isEmpty, !schemes.contains(where: { $0.lowercased() == "basic" }) {
      reason += "; it offers \(schemes.joined(separator: ", ")), not Basic, which is the only scheme known here"
    }
    return failure(.proxyAuthentication, reason)
  }

  private func failure(_ kind: HTTP2Failure.Kind, _ reason: String) -> HTTP2Failure {
    HTTP2Failure(kind, endpoint: target, reason: reason)
  }

  private func finish(_ result: Result<Socket, HTTP2Failure>) {
    guard let report else { return }
    self.report = nil
    leave()
    if case .failure = result { socket.close() }
    report(result)
  }

  private func leave() {
    if let registration { loop.remove(registration, descriptor: socket.descriptor) }
    registration = nil
  }
}
