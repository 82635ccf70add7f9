import Foundation
import HTTP2
import OpenSSL
import Operations
import Support
import Testing

/// Reaching an origin through an HTTP proxy, against real proxies and a real TLS server behind them.
@Suite("Through a proxy", .timeLimit(.minutes(1))) struct ProxyTests {
  /// A server that answers everything, under a name that only a proxy can reach.
  private func server() throws -> RawPeer {
    try RawPeer(tls: Fixture.server("other")) { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { peer.answer(stream) }
    }
  }

  private func client(
    _ proxy: ConnectProxy, credentials: (String, String)? = nil, host: String = "other.example", port: UInt16 = 443,
    configure: (inout HTTP2ClientConfiguration) -> Void = { _ in }
  ) throws -> TestClient {
    try TestClient(
      port: port, host: host,
      proxy: HTTP2Proxy(
        host: "127.0.0.1", port: proxy.port, credentials: credentials.map { (user: $0.0, password: $0.1) }),
      configure: configure)
  }

  private func failure(_ client: TestClient) async throws -> HTTP2Failure {
    try client.submit(3)
    let responses = await client.responses(3)
    await client.close()
    expectEachOnce(responses, 3)
    let failure = try #require(responses[0].unsent)
    #expect(responses.allSatisfy { $0.unsent?.kind == failure.kind })
    #expect(failure.isConnectFailure && failure.retryNotBefore != nil)
    #expect(failure.endpoint == "other.example:443")
    return failure
  }

  @Test("A tunnel is asked for with the origin's name, and TLS verifies that name through it")
  func tunnel() async throws {
    let server = try server()
    let proxy = try await ConnectProxy(.tunnel(server.port))
    let client = try client(proxy)
    try client.submit(200)

    let responses = await client.responses(200)

    expectEachOnce(responses, 200)
    #expect(responses.allSatisfy { $0.status == 200 })
    #expect(proxy.requests == ["CONNECT other.example:443 HTTP/1.1\r\nHost: other.example:443\r\n\r\n"])
    let snapshot = await client.client.snapshot().first?.connections.first
    #expect(snapshot?.peer == "127.0.0.1:\(proxy.port) (proxy)")
    await client.close()
    server.stop()
  }

  @Test("Name and password are sent as Basic authentication, byte for byte")
  func credentials() async throws {
    let server = try server()
    let expected = "Basic " + Data("relay:s€cret:@/ %".utf8).base64EncodedString()
    let proxy = try await ConnectProxy(.tunnel(server.port, authorization: expected))
    let client = try client(proxy, credentials: ("relay", "s€cret:@/ %"))
    try client.submit(1)
    #expect(await client.responses(1)[0].status == 200)
    await client.close()
    server.stop()
  }

  @Test("An IPv6 origin is asked for in brackets")
  func ipv6() async throws {
    let server = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { peer.answer(stream) }
    }
    let proxy = try await ConnectProxy(.tunnel(server.port))
    let client = try client(proxy, host: "::1", port: 2197)
    try client.submit(1)
    #expect(await client.responses(1)[0].status == 200)
    #expect(proxy.requests.first?.hasPrefix("CONNECT [::1]:2197 HTTP/1.1\r\nHost: [::1]:2197\r\n") == true)
    await client.close()
    server.stop()
  }

  @Test(
    "An answer in any pieces and forms opens the tunnel",
    arguments: [
      ["HTTP/1.1 200 OK\r\n", "\r\n"], ["H", "TTP/1.0 200 Connection established\r", "\n", "\r\n"],
      ["HTTP/1.1 200\n\n"], ["HTTP/1.1 204 x\r\nContent-Length: 5\r\nVia: 1.1 squid\r\n\r\n"],
      ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 2", "00 OK\r\n\r\n"],
      ["HTTP/1.1 200 OK\r\nX: \(String(repeating: "y", count: 8000))\r\n\r\n"],
    ])
  func pieces(pieces: [String]) async throws {
    let server = try server()
    let proxy = try await ConnectProxy(.tunnelAfter(pieces, server.port))
    let client = try client(proxy)
    try client.submit(5)
    #expect(await client.responses(5).allSatisfy { $0.status == 200 })
    await client.close()
    server.stop()
  }

  @Test("A proxy that nobody runs is named, and not the origin")
  func unreachable() async throws {
    let port = try freePort()
    let client = try TestClient(
      port: 443, host: "other.example", proxy: HTTP2Proxy(host: "127.0.0.1", port: port))
    let failure = try await failure(client)
    #expect(failure.kind == .proxyUnreachable)
    #expect(failure.reason.contains("the proxy 127.0.0.1:\(port)") && failure.reason.contains("refused"))
  }

  @Test("A proxy whose name has no address is named")
  func unknownName() async throws {
    let client = try TestClient(
      port: 443, host: "other.example", proxy: HTTP2Proxy(host: "no-such-proxy.invalid", port: 3128))
    let failure = try await failure(client)
    #expect(failure.kind == .proxyUnreachable)
    #expect(failure.reason.contains("no-such-proxy.invalid:3128"))
  }

  @Test("407 without credentials and with wrong ones are told apart; the password is in no text")
  func unauthenticated() async throws {
    let proxy = try await ConnectProxy(.tunnel(9, authorization: "Basic other"))
    let without = try await failure(try client(proxy))
    let wrong = try await failure(try client(proxy, credentials: ("relay", "secret")))
    #expect(without.kind == .proxyAuthentication && wrong.kind == .proxyAuthentication)
    #expect(without.reason.contains("407 Proxy Authentication Required; no name and password were given"))
    #expect(wrong.reason.contains("the name or the password is wrong"))
    let hidden = Data("relay:secret".utf8).base64EncodedString()
    #expect(proxy.requests.contains { $0.contains(hidden) })
    var dumped = ""
    dump(HTTP2Proxy(host: "p", port: 1, credentials: ("relay", "secret")), to: &dumped)
    for text in [wrong.description, "\(wrong)", String(reflecting: wrong), dumped] {
      #expect(!text.contains("secret") && !text.contains(hidden))
    }
  }

  @Test("A proxy that wants another scheme than Basic says which")
  func otherScheme() async throws {
    let proxy = try await ConnectProxy(
      .answer("HTTP/1.1 407 No\r\nProxy-Authenticate: Negotiate\r\nproxy-authenticate:  NTLM\r\n\r\n"))
    let failure = try await failure(try client(proxy, credentials: ("a", "b")))
    #expect(failure.kind == .proxyAuthentication)
    #expect(failure.reason.contains("offers Negotiate, NTLM, not Basic"))
  }

  @Test("401 is taken for what the proxy tinyproxy means by it: wrong credentials")
  func otherStatus() async throws {
    let proxy = try await ConnectProxy(.answer("HTTP/1.0 401 Unauthorized\r\n\r\n"))
    let failure = try await failure(try client(proxy, credentials: ("a", "b")))
    #expect(failure.kind == .proxyAuthentication)
    #expect(failure.reason.contains("401 Unauthorized; the name or the password is wrong"))
  }

  @Test(
    "A refused tunnel is told with status and text",
    arguments: [
      ("HTTP/1.1 403 Filtered\r\nContent-Length: 900\r\n\r\n<html>", 403, "403 Filtered"),
      ("HTTP/1.0 503 Service Unavailable\r\n\r\n", 503, "503 Service Unavailable"),
      ("HTTP/1.1 405\r\n\r\n", 405, "405"), ("HTTP/1.1 302 Log in\r\nLocation: x\r\n\r\n", 302, "302 Log in"),
      ("HTTP/1.1 400 a\u{1B}[31mb\r\n\r\n", 400, #"400 a\u{1B}[31mb"#),
    ])
  func refused(answer: String, status: UInt16, text: String) async throws {
    let proxy = try await ConnectProxy(.answer(answer))
    let failure = try await failure(try client(proxy))
    #expect(failure.kind == .proxyRefused(status))
    #expect(failure.reason.hasSuffix("answers CONNECT with \(text)") || failure.reason.contains(text + " "))
  }

  @Test(
    "What is no answer of a proxy is told at once",
    arguments: [
      ("SSH-2.0-OpenSSH_9.2\r\n", "does not begin with HTTP/1"), ("\u{15}\u{03}\u{01}", "does not begin with HTTP/1"),
      ("HTTP/2 200\r\n\r\n", "does not begin with HTTP/1"), ("HTTP/1.1 abc\r\n\r\n", "'HTTP/1.1 abc'"),
      ("HTTP/1.1 999 x\r\n\r\n", "'HTTP/1.1 999 x'"), ("HTTP/1.1 200 OK\r\n\r\nhello", "5 bytes"),
      ("HTTP/1.1 200 OK\r\nX: \(String(repeating: "y", count: 20_000))", "longer than 16384"),
    ])
  func garbage(answer: String, text: String) async throws {
    let proxy = try await ConnectProxy(.answer(answer))
    let failure = try await failure(try client(proxy))
    #expect(failure.kind == .proxyAnswer)
    #expect(failure.reason.contains(text), "\(failure.reason)")
  }

  @Test("A proxy that closes instead of answering is told")
  func closes() async throws {
    let proxy = try await ConnectProxy(.close)
    let failure = try await failure(try client(proxy))
    #expect(failure.kind == .proxyAnswer)
    #expect(failure.reason.contains("closed the connection without an answer"))
  }

  @Test("A proxy that says nothing, or never ends its answer, is given up after the connect timeout")
  func silence() async throws {
    for manners in [ConnectProxy.Manners.silence, .answer("HTTP/1.1 200 OK\r\n")] {
      let proxy = try await ConnectProxy(manners)
      let failure = try await failure(try client(proxy) { $0.connectTimeout = .seconds(1) })
      #expect(failure.kind == .proxyTimeout)
      #expect(failure.reason.contains("127.0.0.1:\(proxy.port) accepted TCP but did not answer CONNECT"))
    }
  }

  @Test("Behind an open tunnel, a silent origin is the origin's failure, and the proxy is named")
  func silentOrigin() async throws {
    let server = try RawPeer(manners: .silent)
    let proxy = try await ConnectProxy(.tunnel(server.port))
    let failure = try await failure(try client(proxy) { $0.connectTimeout = .milliseconds(150) })
    #expect(failure.kind == .connectTimeout)
    #expect(failure.reason.contains("TLS handshake in time, through the proxy 127.0.0.1:\(proxy.port)"))
    server.stop()
  }

  @Test("A proxy that opens TLS itself is refused by its certificate, and named")
  func interception() async throws {
    let server = try RawPeer()
    let proxy = try await ConnectProxy(.tunnel(server.port))
    let failure = try await failure(try client(proxy))
    #expect(failure.kind == .tlsVerification)
    #expect(failure.reason.contains("through the proxy"))
    server.stop()
  }

  @Test("A refusing proxy is left alone for the back-off, and closing ends a tunnel that is being asked for")
  func backoff() async throws {
    let proxy = try await ConnectProxy(.answer("HTTP/1.1 403 Forbidden\r\n\r\n"))
    let refused = try client(proxy) { $0.minimumBackoff = .seconds(30) }
    for id in 1...20 { try refused.submit(1, id: UInt64(id)) }
    _ = await refused.responses(20)
    #expect(proxy.requests.count == 1)
    await refused.close()

    let silent = try await ConnectProxy(.silence)
    let waiting = try client(silent)
    try waiting.submit(2)
    try await eventually("asking for a tunnel") { silent.requests.count == 1 }
    await waiting.close(grace: .seconds(30))
    #expect(waiting.received.count == 2 && waiting.received.allSatisfy { $0.unsent?.kind == .closing })
  }
}
