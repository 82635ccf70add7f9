import HTTP2
import OpenSSL
import Operations
import Synchronization
import Testing

/// What becomes of requests on connections that work, and on those that stop working.
@Suite(.timeLimit(.minutes(1))) struct ClientStreamTests {
  @Test("A plain 200 has no body and no fields")
  func plainAnswer() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { peer.answer(stream, fields: [("apns-id", "x"), ("retry-after", "1")]) }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 7)

    let response = await client.responses(1)[0]

    #expect(response.batch == 7 && response.entry == 0 && response.connection == 1)
    #expect(response.latencyNanoseconds > 0)
    guard case .answered(200, let body, let fields) = response.outcome else {
      Issue.record("\(response.outcome)")
      return
    }
    #expect(body.isEmpty && fields.isEmpty)
    await client.close()
    peer.stop()
  }

  @Test("Status, body and watched fields of an answer come as they were sent")
  func fullAnswer() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event {
        peer.answer(
          stream, "410", fields: [("apns-unique-id", "u"), ("retry-after", "9"), ("other", "o")],
          body: #"{"reason":"Unregistered"}"#)
      }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1)

    guard case .answered(410, let body, let fields) = await client.responses(1)[0].outcome else {
      Issue.record("no 410")
      return
    }

    #expect(body == Array(#"{"reason":"Unregistered"}"#.utf8))
    #expect(
      fields == [
        HTTP2FieldValue(name: "apns-unique-id", value: "u"), HTTP2FieldValue(name: "retry-after", value: "9"),
      ])
    await client.close()
    peer.stop()
  }

  @Test("A response body is cut at the limit")
  func hugeBody() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings() }
      if case .request(let stream) = event {
        peer.answer(stream, "500", body: String(repeating: "x", count: 10_000))
      }
    }
    let client = try TestClient(port: peer.port) { $0.maximumResponseBodyBytes = 100 }
    try client.submit(1)

    guard case .answered(500, let body, _) = await client.responses(1)[0].outcome else {
      Issue.record("no 500")
      return
    }

    #expect(body.count == 100)
    await client.close()
    peer.stop()
  }

  @Test("Never more streams than the peer allows: one before its SETTINGS, then its limit, also when it changes")
  func streamLimit() async throws {
    // The peer answers in rounds: with each it announces another limit and waits for the acknowledgment, after which no
    // stream beyond the new limit may come.
    let limits: [UInt32] = [10, 3, 1, 7]
    let round = Mutex((number: 0, streams: [UInt32](), broken: [String]()))
    let peer = try RawPeer { event, peer in
      switch event {
      case .request(let stream):
        let finished = round.withLock { round in
          round.streams.append(stream)
          let allowed = round.number == 0 ? 1 : Int(limits[(round.number - 1) % limits.count])
          if round.streams.count > allowed { round.broken.append("\(round.streams.count) of \(allowed)") }
          return round.streams.count == allowed
        }
        if finished {
          let next = round.withLock { round in
            round.number += 1
            return limits[(round.number - 1) % limits.count]
          }
          peer.settings([3: next])
        }
      case .frame(type: 4, flags: 1, _, _):
        let streams = round.withLock { round in
          defer { round.streams = [] }
          return round.streams
        }
        for stream in streams { peer.answer(stream) }
      default: break
      }
    }
    let client = try TestClient(port: peer.port)
    // One, and ten full turns of the four limits.
    try client.submit(1 + 10 * 21)

    let responses = await client.responses(211)

    expectEachOnce(responses, 211)
    #expect(responses.first { $0.status != 200 }.map { "\($0.outcome)" } == nil)
    #expect(round.withLock { $0.broken } == [])
    await client.close()
    peer.stop()
  }

  @Test("A limit of no streams holds requests back until their deadline")
  func notAfter() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 0]) }
      if case .request(let stream) = event { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port)
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
    try client.submit(3, notAfter: SystemClocks().monotonicTime() + .milliseconds(100))

    let responses = await client.responses(3)

    expectEachOnce(responses, 3)
    #expect(responses.allSatisfy { $0.unsent?.kind == .deadline && $0.connection == 0 })
    await client.close()
    peer.stop()
  }

  @Test(
    "A connection that allows no streams is replaced, with a failure only if it never took one",
    arguments: [false, true])
  func noStreams(hasAnswered: Bool) async throws {
    let peer = try RawPeer { event, peer in
      switch event {
      case .connected: peer.settings(peer.number == 1 && !hasAnswered ? [3: 0] : [3: 100])
      case .request(let stream):
        peer.answer(stream)
        if peer.number == 1 { peer.settings([3: 0]) }
      case .frame, .closed: break
      }
    }
    let client = try TestClient(port: peer.port) {
      $0.noStreamsTimeout = .milliseconds(300)
      $0.minimumBackoff = .milliseconds(10)
    }
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
    if hasAnswered {
      try client.submit(1, id: 7)
      _ = await client.responses(1)
    }
    try client.submit(3)

    let responses = await client.responses(hasAnswered ? 4 : 3).filter { $0.batch == 1 }

    expectEachOnce(responses, 3)
    #expect(responses.count { $0.unsent?.kind == .noStreams } == (hasAnswered ? 0 : 3))
    #expect(
      client.events.all.contains { event in
        if case .draining(let reason) = event.kind { reason.contains("no streams") } else { false }
      })
    await client.close()
    peer.stop()
  }

  @Test("A request whose deadline is over is not sent at all")
  func late() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings() }
      if case .request = event { Issue.record("it was sent") }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(2, notAfter: SystemClocks().monotonicTime())
    #expect(await client.responses(2).allSatisfy { $0.unsent?.kind == .deadline })
    await client.close()
    peer.stop()
  }

  @Test("A request without an answer in time is reset and unanswered; later answers to it are dropped")
  func responseTimeout() async throws {
    let resets = Mutex<[UInt32]>([])
    let peer = try RawPeer { event, peer in
      switch event {
      case .connected: peer.settings([3: 100])
      case .request(let stream): if stream != 1 { peer.answer(stream) }
      case .frame(type: 3, _, let stream, let payload):
        resets.withLock { $0.append(stream) }
        #expect(payload == [0, 0, 0, 8])
        peer.answer(stream)
      default: break
      }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1, responseTimeout: .milliseconds(50))
    try client.submit(5, id: 2)

    let responses = await client.responses(6)
    try client.submit(1, id: 3)
    _ = await client.responses(7)

    expectEachOnce(client.received, 7)
    let late = try #require(responses.first { $0.batch == 1 })
    #expect(late.unanswered?.kind == .requestTimeout)
    #expect(responses.filter { $0.batch == 2 }.allSatisfy { $0.status == 200 })
    #expect(resets.withLock { $0 } == [1])
    #expect(peer.connections == 1)
    await client.close()
    peer.stop()
  }

  @Test("A connection that leaves several requests in a row unanswered is replaced")
  func silentConnection() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event, peer.number > 1 { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(3, id: 1, responseTimeout: .milliseconds(50))
    _ = await client.responses(3)

    try client.submit(1, id: 2)
    let responses = await client.responses(4)

    #expect(responses.count { $0.unanswered?.kind == .requestTimeout } == 3)
    #expect(responses.last?.status == 200)
    #expect(responses.last?.connection == 2)
    await client.close()
    peer.stop()
  }

  @Test("A connection with several 5xx in a row is replaced, but not time and again")
  func serverErrors() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 1]) }
      if case .request(let stream) = event { peer.answer(stream, "503") }
    }
    let client = try TestClient(port: peer.port) { $0.serverErrorsBeforeReplacement = 5 }
    try client.submit(50)

    let responses = await client.responses(50)

    #expect(responses.allSatisfy { $0.status == 503 })
    #expect(responses.count { $0.connection == 1 } == 5)
    #expect(responses.count { $0.connection == 2 } == 45)
    #expect(peer.connections == 2)
    await client.close()
    peer.stop()
  }

  @Test("A connection that answers nothing but 500 is replaced, and the next one is used")
  func serverErrorsUntilReconnect() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 1]) }
      if case .request(let stream) = event { peer.answer(stream, peer.number == 1 ? "500" : "200") }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(100)

    let responses = await client.responses(100)

    expectEachOnce(responses, 100)
    #expect(responses.count { $0.connection == 1 && $0.status == 500 } == 20)
    #expect(responses.count { $0.connection == 2 && $0.status == 200 } == 80)
    await client.close()
    peer.stop()
  }

  @Test("GOAWAY: streams above its last id go to another connection, those at or below are answered on this one")
  func goAway() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      if peer.number > 1 { return peer.answer(stream) }
      if stream == 1 { return peer.answer(stream) }
      // Streams 3 … 19: five are kept, four are beyond the last id.
      guard peer.requests == 10 else { return }
      peer.goAway(last: 0x7fff_ffff)
      peer.goAway(last: 11, text: "Shutdown")
      for kept in stride(from: UInt32(3), through: 11, by: 2) { peer.answer(kept) }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1, id: 1)
    _ = await client.responses(1)
    try client.submit(9, id: 2)

    let responses = await client.responses(10)

    expectEachOnce(responses, 10)
    #expect(responses.allSatisfy { $0.status == 200 })
    #expect(responses.count { $0.batch == 2 && $0.connection == 1 } == 5)
    #expect(responses.count { $0.batch == 2 && $0.connection == 2 } == 4)
    await client.close()
    peer.stop()
  }

  @Test("Requests that a GOAWAY covers and nobody answers are unanswered after the drain time, with the peer's text")
  func goAwayWithoutAnswers() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event, stream == 5 { peer.goAway(last: 5, text: "Maintenance\n") }
    }
    let client = try TestClient(port: peer.port) { $0.drainTimeout = .milliseconds(50) }
    try client.submit(3)

    let responses = await client.responses(3)

    expectEachOnce(responses, 3)
    for response in responses {
      #expect(response.unanswered?.kind == .connectionLost)
      #expect(response.unanswered?.description.contains("Maintenance") == true)
    }
    await client.close()
    peer.stop()
  }

  @Test("A refused stream is sent again by the client itself, once per refusal, a bounded number of times")
  func refused() async throws {
    let tries = Mutex(0)
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      tries.withLock { $0 += 1 }
      peer.reset(stream, 7)
      // Some servers reset twice.
      peer.reset(stream, 5)
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1)

    let responses = await client.responses(1)

    #expect(responses[0].unsent?.kind == .refusedStream)
    #expect(tries.withLock { $0 } == 4)
    await client.close()
    expectEachOnce(client.received, 1)
    peer.stop()
  }

  @Test("A request refused once is answered in the end")
  func refusedOnce() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { if stream <= 20 { peer.reset(stream, 7) } else { peer.answer(stream) } }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(30)
    let responses = await client.responses(30)
    expectEachOnce(responses, 30)
    #expect(responses.allSatisfy { $0.status == 200 })
    await client.close()
    peer.stop()
  }

  @Test("A stream reset with another code is unanswered, with the code", arguments: [0, 2, 8, 11, 0x1234])
  func reset(code: UInt32) async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { peer.reset(stream, code) }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1)
    let failure = try #require(await client.responses(1)[0].unanswered)
    #expect(failure.kind == .streamReset(code))
    #expect(failure.description.contains(HTTP2ErrorCode.name(code)))
    await client.close()
    peer.stop()
  }

  @Test("An answer that is complete counts although the stream is reset afterwards")
  func resetAfterAnswer() async throws {
    let peer = try RawPeer { event, peer in
      // No window for the request's body: the answer comes before the request is whole.
      if case .connected = event { peer.settings([3: 100, 4: 10]) }
      if case .frame(type: 1, _, let stream, _) = event {
        peer.answer(stream, "413", body: "{}")
        peer.reset(stream, 0)
      }
    }
    let client = try TestClient(port: peer.port)
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
    try client.submit(1, body: [UInt8](repeating: 0x78, count: 5000))
    #expect(await client.responses(1)[0].status == 413)
    await client.close()
    peer.stop()
  }

  @Test("When the connection breaks, open requests are unanswered, and each ends once", arguments: [true, false])
  func brokenConnection(byReset: Bool) async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      if peer.number > 1 || stream < 100 { return peer.answer(stream) }
      if peer.open.count >= 20 { if byReset { peer.abort() } else { peer.close() } }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1000)

    let responses = await client.responses(1000)

    expectEachOnce(responses, 1000)
    let lost = responses.filter { $0.unanswered?.kind == .connectionLost }
    #expect((1...100).contains(lost.count))
    #expect(responses.allSatisfy { $0.status == 200 || $0.unanswered != nil })
    #expect(peer.connections == 2)
    await client.close()
    peer.stop()
  }

  @Test("A peer that no longer answers PING loses its connection")
  func halfDead() async throws {
    let pings = Mutex(0)
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .frame(type: 6, _, _, _) = event { pings.withLock { $0 += 1 } }
    }
    let client = try TestClient(port: peer.port) {
      $0.pingInterval = .milliseconds(50)
      $0.pingTimeout = .milliseconds(100)
    }
    try client.submit(2)

    let responses = await client.responses(2)

    expectEachOnce(responses, 2)
    #expect(responses.allSatisfy { $0.unanswered?.kind == .pingTimeout })
    #expect(pings.withLock { $0 } == 1)
    await client.close()
    peer.stop()
  }

  @Test("An idle connection is kept alive by PING and used again")
  func ping() async throws {
    let (answered, continuation) = AsyncStream<Void>.makeStream()
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { peer.answer(stream) }
      if case .frame(type: 6, flags: 0, _, let payload) = event {
        peer.send(type: 6, flags: 1, stream: 0, payload)
        continuation.yield()
      }
    }
    let client = try TestClient(port: peer.port) { $0.pingInterval = .milliseconds(30) }
    #expect(await client.client.connect(client.origin) == nil)
    var pings = 0
    for await _ in answered {
      pings += 1
      if pings == 3 { break }
    }

    try client.submit(1)

    #expect(await client.responses(1)[0].connection == 1)
    await client.close()
    peer.stop()
  }

  @Test("A peer that breaks the protocol loses its connection, with nghttp2's words")
  func protocolError() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      // DATA on a stream that was never opened.
      if case .request = event { peer.send(type: 0, stream: 99, [1, 2, 3]) }
    }
    let client = try TestClient(port: peer.port)
    try client.submit(1)
    let failure = try #require(await client.responses(1)[0].unanswered)
    #expect(failure.kind == .protocolError)
    await client.close()
    peer.stop()
  }

  @Test("More header bytes than the peer takes are refused before they are sent")
  func headerListLimit() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([6: 200]) }
      if case .request = event { Issue.record("it was sent") }
    }
    let client = try TestClient(port: peer.port)
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
    try client.submit(1)
    let failure = try #require(await client.responses(1)[0].unsent)
    #expect(failure.kind == .headerListTooLarge)
    #expect(failure.description.contains("200"))
    await client.close()
    peer.stop()
  }

  @Test("A peer that stops reading for a while holds requests back and loses none")
  func slowPeer() async throws {
    let paused = Mutex<(@Sendable () -> Void)?>(nil)
    let peer = try RawPeer { event, peer in
      if case .connected = event {
        peer.settings([3: 1000, 4: 0x7fff_ffff])
        peer.send(type: 8, stream: 0, [0x7f, 0, 0, 0])
        nonisolated(unsafe) let connection = peer
        paused.withLock { $0 = { connection.resume() } }
        peer.pause()
      }
      if case .request(let stream) = event { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port)
    // Far more than the socket's buffers take.
    for batch in 0..<3 {
      try client.submit(1000, id: UInt64(batch), body: [UInt8](repeating: 0x78, count: 12_000))
    }
    var queued = -1
    while true {
      let origin = await client.client.snapshot().first
      let open = origin?.connections.first?.openStreams ?? 0
      if let now = origin?.queuedRequests, now == queued, open > 10 { break }
      queued = origin?.queuedRequests ?? -1
      await SystemClocks().sleep(until: SystemClocks().monotonicTime() + .milliseconds(50))
    }
    #expect(queued > 1000)
    #expect(client.received.count < 100)

    peer.run { paused.withLock { $0 }?() }
    let responses = await client.responses(3000)

    expectEachOnce(responses, 3000)
    #expect(responses.allSatisfy { $0.status == 200 })
    await client.close()
    peer.stop()
  }

  @Test(
    "A byte that HTTP forbids makes its request invalid, and no other", arguments: [0x00, 0x0a, 0x0d, 0x20, 0x7f, 0xe9])
  func forbiddenByte(byte: UInt8) async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      if case .request(let stream) = event { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port)
    var batch = HTTP2RequestBatch(id: 1, origin: client.origin, template: try .example())
    batch.append(pathSuffix: [0x61, byte], value: [0x62])
    batch.append(pathSuffix: [0x61], value: [byte])
    batch.append(pathSuffix: [0x61], value: [0x62])
    client.client.submit(batch)

    let responses = await client.responses(3)

    #expect(responses.filter { $0.entry < 2 }.allSatisfy { $0.unsent?.kind == .invalidRequest })
    #expect(responses.first { $0.entry == 2 }?.status == 200)
    await client.close()
    peer.stop()
  }
}
