import HTTP2
import Operations
import Support
import Synchronization
import Testing

/// Every form of GOAWAY: what goes elsewhere, what stays, what is told.
@Suite(.timeLimit(.minutes(1))) struct GoAwayTests {
  private static let graceful: UInt32 = 0x7fff_ffff

  @Test(
    "Streams above the last id go elsewhere, those at or below are answered here, and no new one comes",
    arguments: [
      [0], [11], [graceful, 11], [graceful], [15, 7], [11, 11], [19], [graceful, graceful, 0], [3], [graceful, 19, 3],
    ] as [[UInt32]])
  func lastStream(ids: [UInt32]) async throws {
    let last = ids.last ?? 0
    let late = Mutex(0)
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      if peer.number > 1 || stream == 1 { return peer.answer(stream) }
      if peer.requests > 10 { late.withLock { $0 += 1 } }
      guard peer.requests == 10 else { return }
      for id in ids { peer.goAway(last: id, text: #"{"reason":"Shutdown"}"#) }
      for kept in stride(from: UInt32(3), through: 19, by: 2) where kept <= last { peer.answer(kept) }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    _ = await client.responses(1)
    try client.submit(9, id: 2)
    _ = await client.responses(10)
    try client.submit(20, id: 3)

    let responses = await client.responses(30)

    expectEachOnce(responses, 30)
    #expect(responses.allSatisfy { $0.status == 200 })
    let kept = min(9, Int(last) / 2)
    #expect(responses.count { $0.batch == 2 && $0.connection == 1 } == kept)
    #expect(responses.count { $0.batch == 2 && $0.connection == 2 } == 9 - kept)
    #expect(responses.count { $0.batch == 3 && $0.connection == 2 } == 20)
    #expect(late.withLock { $0 } == 0)
    #expect(peer.connections == 2)
    await client.close()
    peer.stop()
  }

  @Test(
    "A connection that is cut after GOAWAY: what it covers is unknown, what it does not is sent elsewhere",
    arguments: [true, false])
  func thenCut(withFarewell: Bool) async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      if peer.number > 1 || stream == 1 { return peer.answer(stream) }
      guard peer.requests == 4 else { return }
      peer.goAway(last: 5, text: #"{"reason":"Shutdown"}"#)
      if withFarewell { peer.close() } else { peer.cut() }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    _ = await client.responses(1)
    try client.submit(3, id: 2)

    let responses = await client.responses(4).filter { $0.batch == 2 }

    expectEachOnce(responses, 3)
    let unknown = responses.filter { $0.unanswered?.kind == .connectionLost }
    #expect(unknown.count == 2)
    #expect(unknown.allSatisfy { $0.unanswered?.description.contains(#"{"reason":"Shutdown"}"#) == true })
    #expect(responses.count { $0.status == 200 && $0.connection == 2 } == 1)
    await client.close()
    peer.stop()
  }

  @Test(
    "Whatever the debug data is, it is told in one line",
    arguments: [
      ("", "GOAWAY PROTOCOL_ERROR"), ("Maximum active streams violated.", "PROTOCOL_ERROR: Maximum active streams"),
      ("a\r\n\u{1B}[2Jb\0", "PROTOCOL_ERROR: a   [2Jb "), (String(repeating: "x", count: 9000), "xxx…"),
    ])
  func text(text: String, told: String) async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request = event {
        peer.goAway(last: 1, code: 1, text: text)
        peer.close()
      }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1)
    let failure = try #require(await client.responses(1)[0].unanswered)
    #expect(failure.description.contains(told))
    #expect(!failure.description.contains { $0.isNewline || $0 == "\u{1B}" || $0 == "\0" })
    await client.close()
    peer.stop()
  }

  @Test("A last id that grows is the peer's fault and ends the connection; nothing ends twice")
  func growing() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      if peer.number > 1 || stream == 1 { return peer.answer(stream) }
      guard peer.requests == 4 else { return }
      peer.goAway(last: 3)
      peer.goAway(last: 7)
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    _ = await client.responses(1)
    try client.submit(3, id: 2)

    let responses = await client.responses(4)

    expectEachOnce(responses, 4)
    #expect(responses.count { $0.unanswered != nil } == 1)
    #expect(responses.count { $0.status == 200 } == 3)
    await client.close()
    peer.stop()
  }
}
