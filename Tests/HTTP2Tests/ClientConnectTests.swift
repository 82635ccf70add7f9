import EventLoop
import HTTP2
import OpenSSL
import Operations
import Testing

/// What a user sees when no connection comes to be.
@Suite(.timeLimit(.minutes(1))) struct ClientConnectTests {
  private func failure(
    port: UInt16, host: String = "localhost", tls: TLSContext? = nil,
    configure: (inout HTTP2ClientConfiguration) -> Void = { _ in }
  ) async throws -> HTTP2Failure {
    let client = try TestClient(port: port, host: host, tls: tls, configure: configure)
    try client.submit(3)
    let responses = await client.responses(3)
    await client.close()
    expectEachOnce(responses, 3)
    let failure = try #require(responses[0].unsent)
    #expect(responses.allSatisfy { $0.unsent?.kind == failure.kind })
    #expect(failure.isConnectFailure)
    #expect(failure.retryNotBefore != nil)
    #expect(failure.endpoint == "\(host):\(port)")
    return failure
  }

  @Test("An unknown authority is refused, and the message says how to name it")
  func unknownAuthority() async throws {
    let peer = try RawPeer()
    let failure = try await failure(port: peer.port, tls: TLSContext(client: TLSClientConfiguration()))
    #expect(failure.kind == .tlsVerification)
    #expect(failure.description.contains("unable to get local issuer certificate"))
    #expect(failure.description.contains("--ca FILE"))
    peer.stop()
  }

  @Test("A certificate for another name is refused")
  func wrongHost() async throws {
    let peer = try RawPeer(tls: Fixture.server("other"))
    let failure = try await failure(port: peer.port)
    #expect(failure.kind == .tlsVerification)
    #expect(failure.description.lowercased().contains("hostname mismatch"))
    peer.stop()
  }

  @Test("An expired certificate is refused")
  func expired() async throws {
    let peer = try RawPeer(tls: Fixture.server("expired"))
    let failure = try await failure(port: peer.port)
    #expect(failure.kind == .tlsVerification)
    #expect(failure.description.contains("certificate has expired"))
    peer.stop()
  }

  @Test(
    "An IP address is compared with the certificate's addresses", arguments: [("server", true), ("expired", false)])
  func address(certificate: String, accepted: Bool) async throws {
    let peer = try RawPeer(tls: Fixture.server(certificate)) { event, peer in
      if case .connected = event { peer.settings() }
    }
    let client = try TestClient(port: peer.port, host: "127.0.0.1")
    let failure = await client.client.connect(client.origin)
    #expect((failure == nil) == accepted)
    await client.close()
    peer.stop()
  }

  @Test("A refused TCP connection says that nothing listens")
  func refused() async throws {
    let socket = try Socket.listen(host: "127.0.0.1", port: 0)
    let port = try #require(socket.localAddress?.port)
    socket.close()

    let failure = try await failure(port: port, host: "127.0.0.1")

    #expect(failure.kind == .connect)
    #expect(failure.description.contains("Connection refused"))
    #expect(failure.description.contains("nothing listens there"))
  }

  @Test("While an origin is left alone, requests come back at once with the last failure, without another connect")
  func backoff() async throws {
    let peer = try RawPeer(tls: Fixture.server("other"))
    let client = try TestClient(port: peer.port) { $0.minimumBackoff = .seconds(30) }
    try client.submit(1, id: 1)
    _ = await client.responses(1)

    try client.submit(2, id: 2)
    let responses = await client.responses(3)

    #expect(responses.allSatisfy { $0.unsent?.kind == .tlsVerification })
    #expect(peer.connections == 1)
    let snapshot = try #require(await client.client.snapshot().first)
    #expect(snapshot.retryNotBefore != nil)
    #expect(snapshot.lastFailure?.kind == .tlsVerification)
    await client.close()
    peer.stop()
  }

  @Test("After the back-off the origin is tried again")
  func retry() async throws {
    let peer = try RawPeer(tls: Fixture.server("other"))
    let client = try TestClient(port: peer.port) {
      $0.minimumBackoff = .milliseconds(20)
      $0.maximumBackoff = .milliseconds(20)
    }
    try client.submit(1, id: 1)
    let notBefore = try #require(await client.responses(1)[0].unsent?.retryNotBefore)
    await SystemClocks().sleep(until: notBefore)

    try client.submit(1, id: 2)
    _ = await client.responses(2)

    #expect(peer.connections == 2)
    await client.close()
    peer.stop()
  }

  @Test("A peer that accepts and never shakes hands is given up after the connect timeout")
  func silent() async throws {
    let peer = try RawPeer(manners: .silent)
    let failure = try await failure(port: peer.port) { $0.connectTimeout = .milliseconds(100) }
    #expect(failure.kind == .connectTimeout)
    #expect(failure.description.contains("TLS handshake"))
    peer.stop()
  }

  @Test("A host that drops packets is given up after the connect timeout")
  func blackhole() async throws {
    // A full accept queue: the kernel drops further SYNs, as a firewall would.
    let socket = try Socket.listen(host: "127.0.0.1", port: 0, backlog: 0)
    let address = try #require(socket.localAddress)
    let fillers = try (0..<4).map { _ in try Socket.connect(to: address) }

    let failure = try await failure(port: address.port, host: "127.0.0.1") { $0.connectTimeout = .milliseconds(150) }

    #expect(failure.kind == .connectTimeout)
    #expect(failure.description.contains("firewall"))
    for filler in fillers { filler.close() }
  }

  @Test("A server without TLS on the port is named as such")
  func plainHTTP() async throws {
    let peer = try RawPeer(manners: .plainHTTP)
    let failure = try await failure(port: peer.port)
    #expect(failure.kind == .tls)
    #expect(failure.description.contains("does not speak TLS on this port"))
    peer.stop()
  }

  @Test("A server that does not agree to HTTP/2 is refused", arguments: [[], ["http/1.1"]])
  func noHTTP2(protocols: [String]) async throws {
    let peer = try RawPeer(tls: Fixture.server(protocols: protocols))
    let failure = try await failure(port: peer.port)
    #expect(failure.kind == .alpn)
    #expect(failure.description.contains("HTTP/2"))
    peer.stop()
  }

  @Test("A name without an address fails with the name")
  func unknownName() async throws {
    let failure = try await failure(port: 443, host: "no-such-host.invalid")
    #expect(failure.kind == .nameResolution)
  }

  @Test("A GOAWAY instead of service is a connect failure with the peer's text, and is not repeated at once")
  func goAwayAtOnce() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event {
        peer.settings()
        peer.goAway(last: 0, text: #"{"reason":"BadCertificateEnvironment"}"#)
      }
    }
    let failure = try await failure(port: peer.port)
    #expect(failure.kind == .goaway)
    #expect(failure.description.contains("BadCertificateEnvironment"))
    #expect(peer.connections == 1)
    peer.stop()
  }

  @Test("A CA file that is missing or no certificate is named when the context is made")
  func badAuthorityFile() throws {
    for path in ["/nonexistent/ca.pem", Fixture.path("README.md")] {
      let error = try #require(throws: TLSError.self) {
        try TLSContext(client: TLSClientConfiguration(certificateAuthorityFile: path))
      }
      #expect(error.code == .configuration)
      #expect(error.description.contains(path))
    }
  }

  @Test("A key that does not belong to the certificate is refused when the context is made")
  func wrongKey() throws {
    let error = try #require(throws: TLSError.self) {
      try TLSContext(
        server: TLSServerConfiguration(
          certificateFile: Fixture.path("server.pem"), privateKeyFile: Fixture.path("other.key")))
    }
    #expect(error.description.contains("other.key"))
  }
}
