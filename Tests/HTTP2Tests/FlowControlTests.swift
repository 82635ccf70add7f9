import HTTP2
import Operations
import Support
import Synchronization
import Testing

/// Limits and windows that the peer sets and changes while requests are under way.
@Suite(.timeLimit(.minutes(1))) struct FlowControlTests {
  /// Connects and waits for the peer's SETTINGS, so that everything that is submitted then starts at once.
  private func connect(_ client: TestClient) async {
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
  }

  /// The peer's part of the test below; confined to the peer's thread.
  private struct Limits {
    var phase = 0
    var limit = 1
    /// The limit that streams in flight may still go by.
    var former = 1
    var most = 0
    var broken: [String] = []
  }

  @Test("A limit of 1, 1000, 1 and 500 streams is obeyed at once, and never one stream more is opened")
  func limits() async throws {
    let state = Mutex(Limits())
    @Sendable func announce(_ limit: Int, _ peer: PeerConnection) {
      state.withLock {
        $0.phase += 1
        $0.former = max($0.limit, limit)
        $0.limit = limit
        $0.most = 0
      }
      peer.settings([3: UInt32(limit)])
    }
    let peer = try RawPeer { event, peer in
      switch event {
      case .connected: peer.settings([3: 1])
      case .frame(type: 4, flags: 1, _, _): state.withLock { $0.former = $0.limit }
      case .frame(type: 1, _, _, _):
        state.withLock {
          $0.most = max($0.most, peer.open.count)
          if peer.open.count > $0.former { $0.broken.append("\(peer.open.count) of \($0.former), phase \($0.phase)") }
        }
      case .request(let stream):
        let phase = state.withLock { $0.phase }
        switch phase {
        case 0:
          // The first accepted request raises the limit.
          peer.answer(stream)
          announce(1000, peer)
        case 1:
          guard peer.open.count == 1000 else { return }
          announce(1, peer)
          for open in peer.open.sorted() { peer.answer(open) }
        case 2:
          peer.answer(stream)
          if peer.requests == 1 + 1000 + 20 { announce(500, peer) }
        default:
          // All of the 500 come before the first of them is answered.
          if peer.open.count == 500 || peer.requests > 1 + 1000 + 20 + 500 {
            for open in peer.open { peer.answer(open) }
          }
        }
      default: return
      }
    }
    let client = try TestClient(port: peer.port)
    let count = 1 + 1000 + 20 + 500 + 200
    for (index, size) in [1, 1000, 20, 500, 200].enumerated() { try client.submit(size, id: UInt64(index)) }

    let responses = await client.responses(count)

    expectEachOnce(responses, count)
    #expect(responses.allSatisfy { $0.status == 200 && $0.connection == 1 })
    #expect(state.withLock { $0.broken } == [])
    #expect(state.withLock { $0.phase } == 3)
    await client.close()
    peer.stop()
  }

  @Test("The client's own limit holds where the peer allows more, and its excess waits instead of failing")
  func ownLimit() async throws {
    let most = Mutex(0)
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 1000]) }
      guard case .request = event else { return }
      most.withLock { $0 = max($0, peer.open.count) }
      // Nothing is answered before the limit is reached.
      if peer.open.count == 300 || peer.requests > 900 { for open in peer.open { peer.answer(open) } }
    }
    let client = try TestClient(port: peer.port) { $0.maximumStreamsPerConnection = 300 }
    await connect(client)
    try client.submit(1000)

    let responses = await client.responses(1000)

    expectEachOnce(responses, 1000)
    #expect(responses.allSatisfy { $0.status == 200 })
    #expect(most.withLock { $0 } == 300)
    await client.close()
    peer.stop()
  }

  @Test("The connection's window stops the sixteenth body of 4096 bytes one byte short, until it is opened")
  func connectionWindow() async throws {
    let stopped = Mutex<[Int]>([])
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      // The only body that is not whole: 15 times 4096 and 4095 are 65,535.
      if case .frame(type: 0, _, _, let payload) = event {
        stopped.withLock { $0.append(payload.count) }
        nonisolated(unsafe) let connection = peer
        peer.after(.milliseconds(30)) {
          stopped.withLock { $0.append(connection.requests) }
          connection.windowUpdate(0, 1 << 20)
        }
      }
      if case .request(let stream) = event { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port)
    await connect(client)
    try client.submit(40, body: [UInt8](repeating: 0x78, count: 4096))

    let responses = await client.responses(40)

    expectEachOnce(responses, 40)
    #expect(responses.allSatisfy { $0.status == 200 })
    #expect(stopped.withLock { $0 } == [4095, 15])
    await client.close()
    peer.stop()
  }

  @Test("A stream's window that shrinks below what was sent is obeyed, and the rest follows when it grows again")
  func shrinkingWindow() async throws {
    let received = Mutex(0)
    let steps = Mutex<[Int]>([])
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100, 4: 1000]) }
      if case .frame(type: 0, let flags, let stream, let payload) = event, flags & 1 == 0 {
        let total = received.withLock {
          $0 += payload.count
          return $0
        }
        nonisolated(unsafe) let connection = peer
        if total == 1000 {
          // 1000 sent, a window of 0: minus 1000. An update of 1500 leaves 500.
          peer.settings([4: 0])
          peer.windowUpdate(stream, 1500)
        } else if total == 1500 {
          peer.after(.milliseconds(30)) {
            steps.withLock { $0.append(received.withLock { $0 }) }
            connection.windowUpdate(stream, 10_000)
          }
        }
      }
      if case .request(let stream) = event { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port)
    await connect(client)
    try client.submit(1, body: [UInt8](repeating: 0x78, count: 5000))

    #expect(await client.responses(1)[0].status == 200)

    #expect(steps.withLock { $0 } == [1500])
    await client.close()
    peer.stop()
  }

  @Test("A header list limit that is lowered refuses larger requests, and lets them go when it is raised")
  func headerListLimit() async throws {
    let raise = Mutex<(@Sendable () -> Void)?>(nil)
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      nonisolated(unsafe) let connection = peer
      // 8000 is what APNs announces.
      raise.withLock { $0 = { connection.settings([6: 8000]) } }
      if peer.requests == 1 { peer.settings([6: 200]) }
      peer.answer(stream)
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    #expect(await client.responses(1)[0].status == 200)
    try client.submit(2, id: 2)
    let refused = await client.responses(3)
    for response in refused where response.batch == 2 {
      #expect(response.unsent?.kind == .headerListTooLarge, "\(response.outcome)")
    }

    peer.run { raise.withLock { $0 }?() }
    var id: UInt64 = 3
    try await eventually("the raised limit") {
      try client.submit(1, id: id)
      id += 1
      return await client.responses(Int(id)).last?.status == 200
    }
    await client.close()
    peer.stop()
  }

  @Test("The client opens with push turned off, sends no priorities, and answers PING")
  func preface() async throws {
    let frames = Mutex<[(type: UInt8, flags: UInt8, payload: [UInt8])]>([])
    let (answered, continuation) = AsyncStream<[UInt8]>.makeStream()
    let peer = try RawPeer { event, peer in
      if case .connected = event {
        peer.settings([3: 100])
        peer.send(type: 6, stream: 0, [1, 2, 3, 4, 5, 6, 7, 8])
        // An unknown frame and an unknown setting change nothing.
        peer.send(type: 0xbe, flags: 0xff, stream: 0, [1, 2, 3])
        peer.settings([0x7777: 1])
      }
      if case .frame(let type, let flags, _, let payload) = event {
        frames.withLock { $0.append((type, flags, payload)) }
        if type == 6, flags & 1 == 1 { continuation.yield(payload) }
      }
      if case .request(let stream) = event { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(20)
    #expect(await client.responses(20).allSatisfy { $0.status == 200 })
    for await payload in answered {
      #expect(payload == [1, 2, 3, 4, 5, 6, 7, 8])
      break
    }
    await client.close()
    peer.stop()

    let seen = frames.withLock { $0 }
    #expect(seen.first?.type == 4)
    #expect(seen.first?.payload == [0, 2, 0, 0, 0, 0])
    #expect(!seen.contains { $0.type == 2 })
    // 0x20: a priority within HEADERS.
    #expect(!seen.contains { $0.type == 1 && $0.flags & 0x20 != 0 })
  }
}
