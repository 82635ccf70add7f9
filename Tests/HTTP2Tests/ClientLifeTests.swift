import OpenSSL
import Operations
import Synchronization
import Testing

@testable import HTTP2

/// Opening more connections, replacing and closing them.
@Suite(.timeLimit(.minutes(1))) struct ClientLifeTests {
  @Test("A second connection is opened when the first is full for a while, and both are used")
  func growth() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 10]) }
      guard case .request(let stream) = event else { return }
      // The first connection holds its streams until the second one has come.
      if peer.number > 1 { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port, connections: 2) { $0.growAfter = .milliseconds(1) }
    try client.submit(100, responseTimeout: .milliseconds(1000))

    let responses = await client.responses(100)

    expectEachOnce(responses, 100)
    #expect(responses.count { $0.connection == 1 } == 10)
    #expect(responses.count { $0.connection == 2 && $0.status == 200 } == 90)
    #expect(peer.connections == 2)
    await client.close()
    peer.stop()
  }

  @Test("Replaced connections finish their open streams, and new requests go to a new one")
  func replace() async throws {
    let held = Mutex<[@Sendable () -> Void]>([])
    let (arrived, continuation) = AsyncStream<Void>.makeStream()
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      guard peer.number == 1 else { return peer.answer(stream) }
      nonisolated(unsafe) let connection = peer
      held.withLock { $0.append { connection.answer(stream) } }
      continuation.yield()
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    for await _ in arrived { break }

    client.client.replaceConnections(of: client.origin)
    try client.submit(1, id: 2)
    let second = await client.responses(1)
    peer.run { for answer in held.withLock({ $0 }) { answer() } }
    let both = await client.responses(2)

    #expect(second[0].batch == 2 && second[0].connection == 2)
    #expect(both.first { $0.batch == 1 }?.status == 200)
    #expect(both.first { $0.batch == 1 }?.connection == 1)
    await client.close()
    peer.stop()
  }

  @Test("Closing waits for open streams and returns what waits as unsent")
  func closeWithGrace() async throws {
    let held = Mutex<[@Sendable () -> Void]>([])
    let (arrived, continuation) = AsyncStream<Void>.makeStream()
    let goAways = Mutex(0)
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 1]) }
      if case .frame(type: 7, _, _, _) = event { goAways.withLock { $0 += 1 } }
      guard case .request(let stream) = event else { return }
      nonisolated(unsafe) let connection = peer
      held.withLock { $0.append { connection.answer(stream) } }
      continuation.yield()
    }
    let client = try TestClient(port: peer.port)
    try client.submit(3)
    for await _ in arrived { break }

    async let closed: Void = client.close(grace: .seconds(30))
    let waiting = await client.responses(2)
    peer.run { for answer in held.withLock({ $0 }) { answer() } }
    await closed

    #expect(waiting.allSatisfy { $0.unsent?.kind == .closing })
    expectEachOnce(client.received, 3)
    #expect(client.received.count { $0.status == 200 } == 1)
    peer.stop()
    #expect(goAways.withLock { $0 } == 1)
  }

  @Test("After the grace, open streams are unanswered")
  func closeWithoutAnswer() async throws {
    let (arrived, continuation) = AsyncStream<Void>.makeStream()
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request = event { continuation.yield() }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1)
    for await _ in arrived { break }

    await client.close(grace: .milliseconds(50))

    #expect(client.received.count == 1)
    #expect(client.received.first?.unanswered?.kind == .closing)
    peer.stop()
  }

  @Test("Requests submitted to a closed client come back unsent")
  func submitAfterClose() async throws {
    let client = try TestClient(port: 9)
    await client.close()
    try client.submit(2)
    #expect(client.received.count == 2)
    #expect(client.received.allSatisfy { $0.unsent?.kind == .closing })
    #expect(await client.client.snapshot().isEmpty)
    #expect(await client.client.connect(client.origin)?.kind == .closing)
  }

  @Test("A client that is released without being closed still ends every request")
  func released() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 1]) }
    }
    let (ended, continuation) = AsyncStream<HTTP2Response>.makeStream()
    do {
      let client = try HTTP2Client(configuration: HTTP2ClientConfiguration()) {
        for response in $0 { continuation.yield(response) }
      }
      let origin = client.addOrigin(HTTP2Origin(host: "localhost", port: peer.port, tls: try Fixture.trust()))
      #expect(await client.connect(origin) == nil)
      var batch = HTTP2RequestBatch(id: 1, origin: origin, template: try .example())
      for number: UInt8 in 0..<3 { batch.append(pathSuffix: [0x30 + number]) }
      client.submit(batch)
    }

    var responses: [HTTP2Response] = []
    for await response in ended {
      responses.append(response)
      if responses.count == 3 { break }
    }

    expectEachOnce(responses, 3)
    #expect(responses.allSatisfy { $0.unsent?.kind == .closing || $0.unanswered?.kind == .closing })
    peer.stop()
  }

  @Test("When its stream ids are used up, a connection is replaced, and no request is lost")
  func streamIDs() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port) { $0.firstStreamID = 0x7fff_fffd }
    try client.submit(7)

    let responses = await client.responses(7)

    expectEachOnce(responses, 7)
    #expect(responses.allSatisfy { $0.status == 200 })
    for connection: UInt32 in 1...3 { #expect(responses.count { $0.connection == connection } == 2) }
    await client.close()
    peer.stop()
  }

  @Test("A connect that waits survives the replacement of its connection")
  func replaceWhileConnecting() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 1]) }
    }
    let client = try TestClient(port: peer.port)
    async let connected = client.client.connect(client.origin)
    for _ in 0..<20 { client.client.replaceConnections(of: client.origin) }
    #expect(await connected == nil)
    await client.close()
    peer.stop()
  }

  @Test("Closing while a connection is being established ends everything")
  func closeWhileConnecting() async throws {
    let peer = try RawPeer(manners: .silent)
    let client = try TestClient(port: peer.port)
    try client.submit(2)
    while await client.client.snapshot().first?.connections.isEmpty != false {}
    await client.close(grace: .seconds(30))
    expectEachOnce(client.received, 2)
    #expect(client.received.allSatisfy { $0.unsent?.kind == .closing })
    peer.stop()
  }

  @Test("Requests of a removed origin come back unsent")
  func removeOrigin() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 0]) }
    }
    let client = try TestClient(port: peer.port)
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
    try client.submit(1, id: 1)
    client.client.removeOrigin(client.origin)
    try client.submit(1, id: 2)
    let responses = await client.responses(2)
    #expect(responses.allSatisfy { $0.unsent?.kind == .closing })
    await client.close()
    peer.stop()
  }

  @Test("The snapshot shows connections, limits and waiting requests")
  func snapshot() async throws {
    let (arrived, continuation) = AsyncStream<Void>.makeStream()
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 2]) }
      if case .request(let stream) = event {
        if peer.requests == 1 { peer.answer(stream) } else { continuation.yield() }
      }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    _ = await client.responses(1)
    try client.submit(5, id: 2)
    for await _ in arrived { break }

    let origin = try #require(await client.client.snapshot().first)

    #expect(origin.label == "localhost:\(peer.port)")
    #expect(origin.queuedRequests == 3)
    let connection = try #require(origin.connections.first)
    #expect(connection.phase == .ready)
    #expect(connection.openStreams == 2 && connection.streamLimit == 2 && connection.answered == 1)
    #expect(connection.peer == "127.0.0.1:\(peer.port)")
    #expect(connection.tls.hasPrefix("TLSv1.3"))
    await client.close()
    peer.stop()
  }

  @Test("The events of a connection tell its story")
  func events() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event {
        peer.goAway(last: stream, code: 11, text: "calm down")
        peer.answer(stream)
      }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1)
    _ = await client.responses(1)
    await client.close()

    let story = client.events.all.map { event in
      switch event.kind {
      case .connected: "connected"
      case .connectFailed: "failed"
      case .goaway(let code, let text): "goaway \(code) \(text)"
      case .draining(let reason): "draining \(reason)"
      case .closed: "closed"
      }
    }
    #expect(
      story == ["connected", "goaway 11 calm down", "draining GOAWAY ENHANCE_YOUR_CALM: calm down", "closed"])
    peer.stop()
  }
}
