import Operations
import Support
import Synchronization
import Testing

@testable import HTTP2

private func time(_ milliseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: milliseconds * 1_000_000) }

@Suite struct RefusalBrakeTests {
  private func braked(open: Int, at now: UInt64 = 0) -> RefusalBrake {
    var brake = RefusalBrake()
    brake.refused(open: open, now: time(now), delay: .milliseconds(100))
    return brake
  }

  @Test("A refusal stops new streams at those that are open")
  func stop() {
    var brake = braked(open: 7)
    expect(brake.limit(1000, open: 7, now: time(99)), 7)
    #expect(brake.notBefore == time(100))
  }

  @Test("An answer lets the next one go, and every eighth one more, until the announced limit is reached")
  func answers() {
    var brake = braked(open: 20)
    brake.answered(7, limit: 1000)
    expect(brake.limit(1000, open: 13, now: time(1)), 20)
    #expect(brake.notBefore == nil)
    brake.answered(1, limit: 1000)
    expect(brake.limit(1000, open: 12, now: time(1)), 21)
    brake.answered(16, limit: 1000)
    expect(brake.limit(1000, open: 5, now: time(1)), 23)
    brake.answered(8 * 977, limit: 1000)
    expect(brake.limit(1500, open: 5, now: time(1)), 1500)
  }

  @Test("Where few are open, fewer answers let one more go")
  func few() {
    var brake = braked(open: 0)
    for (answers, limit) in [(1, 1), (1, 2), (2, 3), (2, 3), (1, 4), (100, 17)] {
      brake.answered(answers, limit: 1000)
      expect(brake.limit(1000, open: 0, now: time(1)), limit)
    }
  }

  @Test("After the delay one more is tried, and the delay doubles up to eight times the first")
  func delays() {
    var brake = braked(open: 0)
    var now: UInt64 = 0
    for delay: UInt64 in [100, 200, 400, 800, 800, 800] {
      expect(brake.limit(1000, open: 0, now: time(now + delay - 1)), 0)
      now += delay
      expect(brake.limit(1000, open: 0, now: time(now)), 1)
      expect(brake.limit(1000, open: 1, now: time(now + 10_000)), 1)
      brake.refused(open: 0, now: time(now), delay: .milliseconds(100))
    }
    brake.answered(1, limit: 1000)
    brake.refused(open: 0, now: time(now), delay: .milliseconds(100))
    #expect(brake.notBefore == time(now + 100))
  }

  @Test("SETTINGS end it")
  func settings() {
    var brake = braked(open: 0)
    brake.limitAnnounced()
    expect(brake.limit(500, open: 0, now: time(1)), 500)
  }
}

/// REFUSED_STREAM on the wire: what is sent again, when and where.
@Suite(.timeLimit(.minutes(1))) struct RefusalTests {
  /// When each request came.
  private typealias Arrivals = Watched<[(stream: UInt32, time: MonotonicTime)]>

  private func note(_ stream: UInt32, _ arrivals: Arrivals) {
    let now = SystemClocks().monotonicTime()
    arrivals.update { $0.append((stream, now)) }
  }

  @Test("On the only connection, tries are apart by a delay that doubles, and the fourth ends it")
  func delays() async throws {
    let arrivals = Arrivals([])
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      note(stream, arrivals)
      peer.reset(stream, 7)
    }
    let client = try TestClient(port: peer.port) { $0.refusalDelay = .milliseconds(20) }
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
    try client.submit(1)

    let responses = await client.responses(1)

    #expect(responses[0].unsent?.kind == .refusedStream)
    let times = arrivals.current.map(\.time)
    #expect(times.count == 4)
    for (index, delay) in [20, 40, 80].enumerated() {
      #expect(times[index + 1].since(times[index]) >= .milliseconds(delay - 1))
    }
    await client.close()
    peer.stop()
  }

  @Test("While others are open, nothing is sent again before one of them is answered; then all are")
  func answers() async throws {
    let arrivals = Arrivals([])
    let held = Mutex<[@Sendable () -> Void]>([])
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      note(stream, arrivals)
      // The first takes five at a time, whatever it announced.
      nonisolated(unsafe) let connection = peer
      if peer.open.count > 5 {
        peer.reset(stream, 7)
      } else if peer.requests < 60 {
        held.withLock { $0.append { connection.answer(stream) } }
      } else {
        peer.answer(stream)
      }
    }
    let client = try TestClient(port: peer.port) { $0.refusalDelay = .seconds(20) }
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
    try client.submit(40)
    _ = try await arrivals.wait("the first requests") { $0.count == 40 }
    // A round trip: what would be sent again at once would be here by now.
    while await client.client.snapshot().first?.connections.first?.openStreams != 5 {}
    #expect(await client.client.snapshot().first?.queuedRequests == 35)
    #expect(arrivals.current.count == 40)

    var answered = 0
    while client.received.count < 40 {
      peer.run {
        let next = held.withLock { held in
          defer { held = [] }
          return held
        }
        for answer in next { answer() }
      }
      try await eventually("the next answers") { client.received.count > answered }
      answered = client.received.count
    }

    expectEachOnce(client.received, 40)
    #expect(client.received.allSatisfy { $0.status == 200 })
    await client.close()
    peer.stop()
  }

  @Test("SETTINGS let refused requests go at once")
  func settings() async throws {
    let arrivals = Arrivals([])
    let update = Mutex<(@Sendable () -> Void)?>(nil)
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      note(stream, arrivals)
      guard peer.requests <= 10 else { return peer.answer(stream) }
      peer.reset(stream, 7)
      nonisolated(unsafe) let connection = peer
      if peer.requests == 10 { update.withLock { $0 = { connection.settings([3: 3]) } } }
    }
    let client = try TestClient(port: peer.port) { $0.refusalDelay = .seconds(20) }
    #expect(await client.client.connect(client.origin) == nil)
    while await client.client.snapshot().first?.connections.first?.settingsReceived != true {}
    try client.submit(10)
    _ = try await arrivals.wait("the first requests") { $0.count == 10 }
    while await client.client.snapshot().first?.queuedRequests != 10 {}

    peer.run { update.withLock { $0 }?() }
    let responses = await client.responses(10)

    expectEachOnce(responses, 10)
    #expect(responses.allSatisfy { $0.status == 200 })
    #expect(arrivals.current.count == 20)
    await client.close()
    peer.stop()
  }

  @Test("Where another connection is allowed, it is opened for what one refuses")
  func otherConnection() async throws {
    let peer = try RawPeer { event, peer in
      if case .connected = event { peer.settings([3: 100]) }
      guard case .request(let stream) = event else { return }
      if peer.number == 1 { peer.reset(stream, 7) } else { peer.answer(stream) }
    }
    let client = try TestClient(port: peer.port, connections: 2) {
      $0.refusalDelay = .seconds(20)
      $0.growAfter = .milliseconds(1)
    }
    try client.submit(50)

    let responses = await client.responses(50)

    expectEachOnce(responses, 50)
    #expect(responses.allSatisfy { $0.status == 200 && $0.connection == 2 })
    await client.close()
    peer.stop()
  }
}
