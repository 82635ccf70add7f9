import APNsSimulator
import EventLoop
import HTTP2
import OpenSSL
import Operations
import PushCore
import Support
import Testing

@testable import APNs

@Suite("What a failing connection says", .timeLimit(.minutes(1)))
struct SendFailureTests {
  /// The failure that a push meets, and when it may be offered again.
  private func failure(_ sender: TestSender) async throws -> SendFailure {
    let before = SystemClocks().monotonicTime()
    let answers = try await sender.send(TestSender.batch(3))
    var found: SendFailure?
    for answer in answers {
      guard case .unsent(let failure, let retryAt) = answer.verdict else {
        Issue.record("\(answer.verdict)")
        continue
      }
      #expect(answer.status == 0)
      #expect(retryAt > before)
      #expect(found == nil || found == failure)
      found = failure
    }
    return try #require(found)
  }

  @Test("a port where nobody listens")
  func refused() async throws {
    let port = try freePort()
    let failure = try await failure(try TestSender(port: port, authorityFile: nil))
    #expect(failure.kind == .unreachable)
    #expect(
      failure.message.hasPrefix("APNs at localhost:\(port): no connection can be made there"))
    #expect(failure.remedy.contains("443 and 2197") && failure.remedy.contains("--host"))
  }

  @Test("a host that does not exist")
  func unknownHost() async throws {
    let failure = try await failure(
      try TestSender(port: 443, authorityFile: nil, host: "apns.invalid"))
    #expect(failure.message.contains("APNs at apns.invalid:443: the host name has no address"))
    #expect(failure.remedy.contains("name server"))
  }

  @Test("a certificate of a CA that is not trusted")
  func unknownAuthority() async throws {
    let server = try await ScriptedAPNs()
    let failure = try await failure(try TestSender(port: server.port, authorityFile: nil))
    #expect(failure.message.contains("its certificate is not trusted"))
    #expect(failure.remedy.contains("--ca"))
    #expect(server.asked.isEmpty)
  }

  @Test("a certificate for another name")
  func otherName() async throws {
    let server = try await ScriptedAPNs()
    let failure = try await failure(
      try TestSender(port: server.port, authorityFile: server.authorityFile, host: "127.0.0.2"))
    // Either nothing listens on that address or its certificate is for another; never is a push sent.
    #expect(failure.kind == .unreachable)
    #expect(server.asked.isEmpty)
  }

  @Test("a port that does not speak TLS")
  func plainText() async throws {
    let peer = try await PlainPeer()
    let failure = try await failure(try TestSender(port: peer.port, authorityFile: nil))
    #expect(failure.message.contains("does not speak TLS"))
    #expect(failure.remedy.contains("Check the port"))
  }

  @Test("a host that takes the connection and says nothing")
  func silent() async throws {
    let peer = try await PlainPeer(greets: false)
    let sender = try TestSender(
      port: peer.port, authorityFile: nil, configure: { $0.connectTimeout = .milliseconds(200) })
    let failure = try await failure(sender)
    #expect(failure.message.contains("no connection in time"))
    #expect(failure.remedy.contains("firewall"))
  }

  @Test("a server that speaks TLS and not HTTP/2")
  func notHTTP2() async throws {
    let directory = try TemporaryDirectory()
    let tls = TLSDirectory(path: directory.path)
    try tls.prepare(names: [], now: SystemClocks().wallTime())
    var configuration = TLSServerConfiguration(
      certificateFile: tls.certificateFile, privateKeyFile: tls.privateKeyFile)
    configuration.applicationProtocols = []
    let peer = try await PlainPeer(tls: try TLSContext(server: configuration))
    let failure = try await failure(
      try TestSender(port: peer.port, authorityFile: tls.authorityFile))
    #expect(failure.message.contains("does not speak HTTP/2"))
    #expect(failure.remedy.contains("proxy"))
  }

  @Test("a CA file that cannot be used is found at the start")
  func badAuthorityFile() throws {
    let error = try #require(throws: SendFailure.self) {
      _ = try TestSender(port: 443, authorityFile: "/nonexistent/ca.pem")
    }
    #expect(error.description.contains("/nonexistent/ca.pem") && error.description.contains("--ca"))
  }

  @Test("every kind of failure says something of its own and what to do")
  func everyKind() {
    let kinds: [HTTP2Failure.Kind] = [
      .nameResolution, .connect, .connectTimeout, .tlsVerification, .tls, .alpn, .connectionLost,
      .requestTimeout, .proxyUnreachable, .proxyTimeout, .proxyAuthentication, .proxyRefused(403), .proxyAnswer,
      .deadline, .invalidRequest, .closing,
    ]
    let failures = kinds.map {
      SendFailure(HTTP2Failure($0, endpoint: "api.push.apple.com:443", reason: "why"))
    }
    #expect(Set(failures.map(\.message)).count == kinds.count)
    #expect(failures.allSatisfy { !$0.remedy.isEmpty })
    #expect(failures.filter { $0.kind == .notSent }.count == 3)
    #expect(failures[2].remedy.contains("2197"))
  }

  @Test("a proxy that wants a password, one that refuses and one that is ill are told apart")
  func proxies() async throws {
    func failure(_ answer: String) async throws -> SendFailure {
      let proxy = try await ConnectProxy(.answer(answer))
      return try await self.failure(
        try TestSender(port: 443, authorityFile: nil, host: "apns.invalid") {
          $0.productionProxy = try? .parse("http://relay:secret@127.0.0.1:\(proxy.port)")
        })
    }

    let wrong = try await failure("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
    let forbidden = try await failure("HTTP/1.1 403 Filtered\r\n\r\n")
    let ill = try await failure("HTTP/1.1 502 Bad Gateway\r\n\r\n")

    #expect([wrong, forbidden, ill].allSatisfy { $0.kind == .unreachable })
    #expect(wrong.message.contains("wants other credentials") && wrong.message.contains("407"))
    #expect(wrong.remedy.contains("apns.proxy") && wrong.remedy.contains("HTTPS_PROXY"))
    #expect(forbidden.message.contains("403 Filtered") && forbidden.remedy.contains("CONNECT to apns.invalid:443"))
    #expect(ill.message.contains("502 Bad Gateway") && ill.remedy.contains("cannot reach apns.invalid:443"))
    for failure in [wrong, forbidden, ill] { #expect(!"\(failure)".contains("secret")) }
  }

  @Test("connecting without a push tells the same")
  func connect() async throws {
    let server = try await ScriptedAPNs()
    let good = try TestSender(server)
    #expect(await good.sender.connect(TestSender.production) == nil)
    let bad = try TestSender(port: try freePort(), authorityFile: nil)
    #expect(await bad.sender.connect(TestSender.production)?.kind == .unreachable)
  }
}

/// Accepts connections and says something that is no TLS, or does TLS without agreeing to a protocol.
private final class PlainPeer: Sendable {
  let port: UInt16
  private let thread: LoopThread

  init(tls: TLSContext? = nil, greets: Bool = true) async throws {
    let thread = try LoopThread(name: "plain-peer") { _ in }
    self.thread = thread
    port = try await withCheckedThrowingContinuation { continuation in
      thread.execute { loop in
        continuation.resume(
          with: Result {
            let socket = try Socket.listen(host: "127.0.0.1", port: 0)
            _ = try loop.register(socket.descriptor, handler: Acceptor(socket, loop, tls, greets))
            return socket.localAddress?.port ?? 0
          })
      }
    }
  }

  deinit { thread.stop() }

  private final class Acceptor: EventHandler {
    private let socket: Socket
    private let loop: EventLoop
    private let tls: TLSContext?
    private let greets: Bool
    private var peers: [Peer] = []

    init(_ socket: Socket, _ loop: EventLoop, _ tls: TLSContext?, _ greets: Bool) {
      self.greets = greets
      self.socket = socket
      self.loop = loop
      self.tls = tls
    }

    func ready(_ readiness: Readiness) {
      while let connection = try? socket.accept() {
        let peer = Peer(connection, tls)
        peers.append(peer)
        if greets { _ = try? loop.register(connection.descriptor, handler: peer) }
        if greets { peer.ready(.readable) }
      }
    }
  }

  private final class Peer: EventHandler {
    private let socket: Socket
    private let stream: TLSStream?

    init(_ socket: Socket, _ tls: TLSContext?) {
      self.socket = socket
      stream = tls.flatMap { try? TLSStream(server: $0, socket: socket, peer: "test") }
    }

    func ready(_ readiness: Readiness) {
      if let stream {
        _ = stream.handshake()
      } else {
        let text = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
        _ = text.withUnsafeBytes { socket.write($0) }
      }
    }
  }
}
