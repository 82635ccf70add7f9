import EventLoop
import OpenSSL
import Operations
import Support
import Synchronization
import Testing

@testable import HTTP2

/// Connections that break in the middle of something, come to be slowly, or break time and again.
@Suite(.timeLimit(.minutes(1))) struct ConnectionFaultTests {
  /// How a peer leaves.
  enum End: CaseIterable {
    case close, cut, abort

    func leave(_ peer: PeerConnection) {
      switch self {
      case .close: peer.close()
      case .cut: peer.cut()
      case .abort: peer.abort()
      }
    }
  }

  private func answering(_ event: RawPeer.Event, _ peer: PeerConnection) {
    if case .connected = event { peer.settings([3: 100]) }
    if case .request(let stream) = event { peer.answer(stream) }
  }

  @Test(
    "An end in the middle of a frame leaves open requests unknown, each once, and the next go elsewhere",
    arguments: End.allCases)
  func midFrame(end: End) async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      guard peer.number == 1 else { return peer.answer(stream) }
      if peer.requests == 1 { return peer.answer(stream) }
      guard peer.requests == 11 else { return }
      // The head of HEADERS of 20 bytes, and four of them: `:status: 200` and the beginning of `content-length`.
      peer.raw([0, 0, 20, 1, 4, 0, 0, 0, UInt8(stream), 0x88, 0x0f, 0x0d, 0x01])
      end.leave(peer)
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    _ = await client.responses(1)
    try client.submit(10, id: 2)
    _ = await client.responses(11)
    try client.submit(5, id: 3)

    let responses = await client.responses(16)

    expectEachOnce(responses, 16)
    for response in responses where response.batch == 2 {
      #expect(response.unanswered?.kind == .connectionLost, "\(response.outcome)")
    }
    #expect(responses.count { $0.batch == 3 && $0.status == 200 } == 5)
    await client.close()
    peer.stop()
  }

  @Test(
    "An idle connection that ends without TLS's farewell is replaced at the next request, without a failure",
    arguments: End.allCases)
  func idleEnd(end: End) async throws {
    let (left, continuation) = AsyncStream<Void>.makeStream()
    let peer = try RawPeer { event, peer in
      answering(event, peer)
      if case .request = event, peer.number == 1 {
        nonisolated(unsafe) let connection = peer
        peer.after(.milliseconds(20)) {
          end.leave(connection)
          continuation.yield()
        }
      }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    _ = await client.responses(1)
    for await _ in left { break }
    while await client.client.snapshot().first?.connections.isEmpty != true {}

    try client.submit(3, id: 2)

    let responses = await client.responses(4)
    #expect(responses.allSatisfy { $0.status == 200 })
    #expect(responses.count { $0.connection == 2 } == 3)
    await client.close()
    peer.stop()
  }

  @Test("A slow TLS handshake within the connect timeout is waited for")
  func slowHandshake() async throws {
    let peer = try RawPeer(manners: .slow(.milliseconds(200)), script: answering)
    let client = try TestClient(port: peer.port)
    try client.submit(3)
    #expect(await client.responses(3).allSatisfy { $0.status == 200 })
    #expect(peer.connections == 1)
    await client.close()
    peer.stop()
  }

  @Test("A peer that closes instead of shaking hands is a failed connect")
  func closedHandshake() async throws {
    let peer = try RawPeer(manners: .closing)
    let client = try TestClient(port: peer.port)
    try client.submit(3)
    let responses = await client.responses(3)
    #expect(responses.allSatisfy { $0.unsent?.kind == .tls && $0.unsent?.isConnectFailure == true })
    await client.close()
    peer.stop()
  }

  @Test("TLS 1.1 is refused")
  func oldTLS() async throws {
    var configuration = TLSServerConfiguration(
      certificateFile: Fixture.path("server.pem"), privateKeyFile: Fixture.path("server.key"))
    configuration.minimumVersion = .tls11
    configuration.maximumVersion = .tls11
    let peer = try RawPeer(tls: try TLSContext(server: configuration))
    let client = try TestClient(port: peer.port)
    try client.submit(1)
    let failure = try #require(await client.responses(1)[0].unsent)
    #expect(failure.kind == .tls)
    await client.close()
    peer.stop()
  }

  @Test("A peer that never says SETTINGS gets one request, which ends in time, and loses its connection in the end")
  func noSettings() async throws {
    let requests = Mutex(0)
    let peer = try RawPeer { event, _ in if case .request = event { requests.withLock { $0 += 1 } } }
    let client = try TestClient(port: peer.port) { $0.timeoutsBeforeReplacement = 1 }
    let now = SystemClocks().monotonicTime()
    try client.submit(5, notAfter: now + .milliseconds(400), responseTimeout: .milliseconds(100))

    let responses = await client.responses(5)

    expectEachOnce(responses, 5)
    #expect(responses.contains { $0.unanswered?.kind == .requestTimeout })
    #expect(responses.allSatisfy { $0.unanswered != nil || $0.unsent != nil })
    #expect(requests.withLock { $0 } == responses.count { $0.unanswered != nil })
    await client.close()
    peer.stop()
  }

  @Test("An answer whose body never comes ends at the request's time")
  func withheldBody() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      guard stream == 1 else { return peer.answer(stream) }
      peer.send(type: 1, flags: 4, stream: stream, [0x08, 3] + Array("400".utf8))
    }
    let client = try TestClient(port: peer.port)
    try client.submit(2, responseTimeout: .milliseconds(100))
    let responses = await client.responses(2)
    expectEachOnce(responses, 2)
    #expect(responses.count { $0.unanswered?.kind == .requestTimeout } == 1)
    #expect(responses.count { $0.status == 200 } == 1)
    await client.close()
    peer.stop()
  }

  @Test(
    "A peer that pushes, or breaks a rule in another way, loses its connection; open requests are unknown",
    arguments: [
      // PUSH_PROMISE on stream 1.
      (5, 4, 1, [0, 0, 0, 2, 0x88]),
      // HEADERS that end a request the client never made; a SETTINGS of 5 bytes; WINDOW_UPDATE by 0; a block that is no HPACK.
      (1, 5, 2, [0x88]), (4, 0, 0, [1, 2, 3, 4, 5]), (8, 0, 0, [0, 0, 0, 0]),
      (1, 5, 1, [0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
    ] as [(UInt8, UInt8, UInt32, [UInt8])])
  func broken(type: UInt8, flags: UInt8, stream: UInt32, payload: [UInt8]) async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request = event { peer.send(type: type, flags: flags, stream: stream, payload) }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1)
    let failure = try #require(await client.responses(1)[0].unanswered)
    #expect(failure.kind == .protocolError || failure.kind == .connectionLost, "\(failure)")
    await client.close()
    peer.stop()
  }

  // MARK: Connect storms

  /// Sends one request after the other for two seconds; the number of connections that this took beyond one a second.
  private func connections(
    manners: RawPeer.Manners = .frames, _ script: @escaping RawPeer.Script = { _, _ in }
  ) async throws -> Int {
    let peer = try RawPeer(manners: manners, script: script)
    let client = try TestClient(port: peer.port) { $0.drainTimeout = .milliseconds(50) }
    let clocks = SystemClocks()
    let start = clocks.monotonicTime()
    var count = 0
    while clocks.monotonicTime().since(start) < .seconds(2) {
      count += 1
      try client.submit(1, id: UInt64(count), responseTimeout: .milliseconds(100))
      _ = await client.responses(count)
      // At a back-off answers come at once.
      await clocks.sleep(until: clocks.monotonicTime() + .milliseconds(1))
    }
    // A wait is shortened by up to a quarter.
    let regular = Int(clocks.monotonicTime().since(start).components.seconds) * 4 / 3 + 1
    await client.close()
    expectEachOnce(client.received, count)
    peer.stop()
    return peer.connections - regular
  }

  @Test(
    "A server that breaks each connection after an answer is not met with a storm of connects",
    arguments: End.allCases)
  func flapping(end: End) async throws {
    let count = try await connections { event, peer in
      answering(event, peer)
      if case .request = event { end.leave(peer) }
    }
    #expect(count <= 4)
  }

  @Test("A server that says GOAWAY after each answer is not met with a storm of connects")
  func leaving() async throws {
    let count = try await connections { event, peer in
      answering(event, peer)
      if case .request(let stream) = event { peer.goAway(last: stream) }
    }
    #expect(count <= ConnectBudget.burst)
  }

  @Test(
    "A server that closes what it accepts, or breaks TLS, is not met with a storm of connects",
    arguments: [true, false])
  func refusing(inClear: Bool) async throws {
    #expect(try await connections(manners: inClear ? .plainHTTP : .closing) <= 1)
  }

  @Test("Connects follow each other at once a few times, then one in each interval; a quiet time restores the few")
  func budget() {
    var budget = ConnectBudget()
    func time(_ milliseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: 1_000_000 * (5000 + milliseconds)) }
    func taken(_ milliseconds: UInt64) -> Int {
      var count = 0
      while budget.take(now: time(milliseconds), interval: .seconds(1)) { count += 1 }
      return count
    }
    #expect(taken(0) == 8)
    #expect(taken(999) == 0)
    #expect(taken(1000) == 1)
    #expect(taken(1500) == 0)
    #expect(taken(2999) == 1)
    #expect(taken(3000) == 1)
    #expect(taken(60_000) == 8)
    #expect(taken(60_999) == 0)
  }

  @Test("A connect that must wait for the budget is made when it allows one, and the waiter is told")
  func waitingConnect() async throws {
    let peer = try RawPeer { event, peer in
      answering(event, peer)
      if case .request(let stream) = event { peer.goAway(last: stream) }
    }
    let client = try TestClient(port: peer.port) { $0.minimumBackoff = .milliseconds(300) }
    for id in 1...8 {
      try client.submit(1, id: UInt64(id))
      #expect(await client.responses(id).last?.status == 200)
      while await client.client.snapshot().first?.connections.isEmpty != true {}
    }
    #expect(await client.client.connect(client.origin) == nil)
    #expect(peer.connections == 9)
    await client.close()
    peer.stop()
  }
}

/// Names that have several addresses, or other ones than before.
@Suite(.timeLimit(.minutes(1))) struct AddressTests {
  private func address(_ host: String, _ port: UInt16) throws -> SocketAddress {
    try #require(try NameResolution.lookUp(host: host, port: port).get().first)
  }

  private func answering() throws -> RawPeer {
    try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { peer.answer(stream) }
    }
  }

  /// A client that gets these addresses for its host.
  private func client(_ addresses: @escaping @Sendable (Int) -> Result<[SocketAddress], SocketError>) throws -> (
    TestClient, Lock<Int>
  ) {
    let count = Lock(0)
    let client = try TestClient(port: 1) {
      $0.resolve = { _, _, deliver in
        let number = count.withLock {
          $0 += 1
          return $0
        }
        deliver(addresses(number))
      }
    }
    return (client, count)
  }

  @Test("An IPv6 address where nothing listens is passed over for the IPv4 address that works")
  func deadIPv6() async throws {
    let peer = try answering()
    let addresses = [try address("::1", peer.port), try address("127.0.0.1", peer.port)]
    let (client, _) = try client { _ in .success(addresses) }
    try client.submit(3)
    #expect(await client.responses(3).allSatisfy { $0.status == 200 })
    #expect(await client.client.snapshot().first?.connections.first?.peer == addresses[1].description)
    await client.close()
    peer.stop()
  }

  @Test("An address that swallows packets does not hold up the next one for long")
  func silentAddress() async throws {
    let peer = try answering()
    // A full accept queue: the kernel drops further SYNs, as a firewall would.
    let hole = try Socket.listen(host: "127.0.0.1", port: 0, backlog: 0)
    let dead = try #require(hole.localAddress)
    let fillers = try (0..<4).map { _ in try Socket.connect(to: dead) }
    let addresses = [dead, dead, try address("127.0.0.1", peer.port)]
    let (client, _) = try client { _ in .success(addresses) }
    let start = SystemClocks().monotonicTime()
    try client.submit(3)
    #expect(await client.responses(3).allSatisfy { $0.status == 200 })
    #expect(SystemClocks().monotonicTime().since(start) >= .milliseconds(499))
    await client.close()
    for filler in fillers { filler.close() }
    peer.stop()
  }

  @Test("When no address works, the last failure is told with its address")
  func allDead() async throws {
    let addresses = [try address("127.0.0.1", try freePort()), try address("::1", try freePort())]
    let (client, _) = try client { _ in .success(addresses) }
    try client.submit(1)
    let failure = try #require(await client.responses(1)[0].unsent)
    #expect(failure.kind == .connect)
    #expect(failure.reason.contains("localhost:1 ("), "\(failure.reason)")
    await client.close()
  }

  @Test("The name is looked up for each connection anew, and a new address is used")
  func eachConnect() async throws {
    let first = try answering()
    let second = try answering()
    let addresses = [try address("127.0.0.1", first.port), try address("127.0.0.1", second.port)]
    let (client, count) = try client { .success([addresses[min($0, 2) - 1]]) }
    try client.submit(2, id: 1)
    _ = await client.responses(2)
    client.client.replaceConnections(of: client.origin)
    try client.submit(2, id: 2)

    #expect(await client.responses(4).allSatisfy { $0.status == 200 })

    #expect(count.withLock { $0 } == 2)
    #expect(first.connections == 1 && second.connections == 1)
    await client.close()
    first.stop()
    second.stop()
  }

  @Test("A name server that fails once is asked again after the back-off")
  func failingOnce() async throws {
    let peer = try answering()
    let working = [try address("127.0.0.1", peer.port)]
    let failing = SocketError(.resolve, "localhost:1", code: -3, reason: "Temporary failure in name resolution")
    let (client, count) = try client { $0 == 1 ? .failure(failing) : .success(working) }
    try client.submit(1, id: 1)
    let failure = try #require(await client.responses(1)[0].unsent)
    #expect(failure.kind == .nameResolution)
    await SystemClocks().sleep(until: try #require(failure.retryNotBefore))
    try client.submit(1, id: 2)
    #expect(await client.responses(2).last?.status == 200)
    #expect(count.withLock { $0 } == 2)
    await client.close()
    peer.stop()
  }
}
