import EventLoop
import Foundation
import OpenSSL
import Operations
import Support
import Synchronization
import Testing

@testable import HTTP2

/// Random faults for seconds: every request ends exactly once, and nothing is left behind.
///
/// `SOAK_SECONDS` and `SOAK_SEED` in the environment make it longer or repeat a run.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ConservationTests {
  private static let variables = ProcessInfo.processInfo.environment
  private static let seconds = variables["SOAK_SECONDS"].flatMap { Int($0) } ?? 2
  private static let seeds =
    variables["SOAK_SEED"].flatMap { UInt64($0) }.map { [$0] } ?? [1, UInt64.random(in: 2...UInt64.max)]

  @Test(
    "Whatever a server does, each request ends once, and no stream, timer, descriptor or batch is left",
    arguments: seeds)
  func conservation(seed: UInt64) async throws {
    let server = FaultyServer(seed: seed)
    let peer = try RawPeer(manners: .by { server.manners($0) }) { server.take($0, $1) }
    let ledger = Ledger()
    let client = try HTTP2Client(configuration: Self.configuration) { ledger.end($0) }
    let origins = try (0..<2).map { _ in
      client.addOrigin(
        HTTP2Origin(host: "127.0.0.1", port: peer.port, tls: try Fixture.trust(), maximumConnections: 3))
    }

    try await submit(to: origins, of: client, ledger, seed: seed)
    server.calmDown()
    try await eventually(within: .seconds(60), "\(ledger.open) requests of seed \(seed) have not ended") {
      ledger.open == 0
    }

    #expect(ledger.faults == [], "seed \(seed)")
    let outcomes = ledger.outcomes
    #expect(!outcomes.isEmpty, "seed \(seed)")
    try await eventually("a client at rest, seed \(seed)") { await Self.isAtRest(client) }
    await client.close(grace: .seconds(5))
    #expect(ledger.faults == [], "seed \(seed)")
    try await eventually("\(ledger.templatesAlive) batches are still held, seed \(seed)") { ledger.templatesAlive == 0 }
    if Self.variables["SOAK_SECONDS"] != nil { print("seed \(seed), \(peer.connections) connections:", outcomes) }
    peer.stop()
  }

  private static var configuration: HTTP2ClientConfiguration {
    var configuration = HTTP2ClientConfiguration()
    configuration.connectTimeout = .milliseconds(200)
    configuration.pingInterval = .milliseconds(200)
    configuration.pingTimeout = .milliseconds(100)
    configuration.drainTimeout = .milliseconds(150)
    configuration.growAfter = .milliseconds(5)
    configuration.minimumBackoff = .milliseconds(5)
    configuration.maximumBackoff = .milliseconds(20)
    configuration.replacementInterval = .milliseconds(50)
    configuration.extraConnectionIdleTimeout = .milliseconds(100)
    configuration.refusalDelay = .milliseconds(5)
    configuration.serverErrorsBeforeReplacement = 5
    configuration.watchedFields = [HTTP2WatchedField("retry-after", always: true)]
    return configuration
  }

  private func submit(
    to origins: [HTTP2OriginID], of client: HTTP2Client, _ ledger: Ledger, seed: UInt64
  ) async throws {
    let clocks = SystemClocks()
    let end = clocks.monotonicTime() + .seconds(Self.seconds)
    var random = SeededGenerator(seed &+ 0x5151)
    var id: UInt64 = 0
    while clocks.monotonicTime() < end {
      guard ledger.open < 600 else {
        await clocks.sleep(until: clocks.monotonicTime() + .milliseconds(1))
        continue
      }
      id += 1
      let size = [0, 20, 250, 4096, 20_000].randomElement(using: &random) ?? 0
      let template = try HTTP2RequestTemplate.example(
        topic: "com.example.\(Int.random(in: 0...3, using: &random))", body: [UInt8](repeating: 0x78, count: size))
      let wait = [1, 50, 60_000].randomElement(using: &random) ?? 0
      var batch = HTTP2RequestBatch(
        id: id, origin: origins[Int.random(in: 0...1, using: &random)], template: template,
        notAfter: clocks.monotonicTime() + .milliseconds(wait), responseTimeout: .milliseconds(200))
      let count = Int.random(in: 1...200, using: &random)
      for number in 0..<count {
        batch.append(pathSuffix: Array("\(id)/\(number)".utf8), value: Array("\(number)".utf8))
      }
      ledger.begin(id, count, template)
      client.submit(batch)
      if Int.random(in: 0..<100, using: &random) == 0 { client.replaceConnections(of: origins[0]) }
      if Int.random(in: 0..<100, using: &random) == 0 { _ = await client.connect(origins[1]) }
    }
  }

  /// No stream is open, nothing waits, and the loop watches its two inboxes and the connections, with one timer.
  private static func isAtRest(_ client: HTTP2Client) async -> Bool {
    let origins = await client.snapshot()
    let load = await withCheckedContinuation { continuation in client.load { continuation.resume(returning: $0) } }
    let connections = origins.flatMap(\.connections)
    return connections.allSatisfy { $0.phase == .ready && $0.openStreams == 0 }
      && origins.allSatisfy { $0.queuedRequests == 0 } && load.descriptors == 2 + connections.count && load.timers <= 1
  }
}

/// Counts requests in and out.
private final class Ledger: Sendable {
  private struct Books {
    var batches: [UInt64: [Bool]] = [:]
    var open = 0
    var faults: [String] = []
    var outcomes: [String: Int] = [:]
    var templates: [WeakTemplate] = []
  }

  private struct WeakTemplate: Sendable {
    weak let template: HTTP2RequestTemplate?
  }

  private let books = Lock(Books())

  var open: Int { books.withLock { $0.open } }
  var faults: [String] { books.withLock { $0.faults } }
  var outcomes: [String: Int] { books.withLock { $0.outcomes } }
  /// Templates that something still holds, as every batch that was not freed would.
  var templatesAlive: Int { books.withLock { $0.templates.count { $0.template != nil } } }

  func begin(_ id: UInt64, _ count: Int, _ template: HTTP2RequestTemplate) {
    books.withLock {
      $0.batches[id] = Array(repeating: false, count: count)
      $0.open += count
      $0.templates.append(WeakTemplate(template: template))
    }
  }

  func end(_ responses: [HTTP2Response]) {
    books.withLock { books in
      for response in responses {
        books.outcomes[Self.name(response), default: 0] += 1
        let entry = Int(response.entry)
        guard books.batches[response.batch]?[entry] == false else {
          books.faults.append("\(response.batch)/\(entry) ended twice")
          continue
        }
        books.batches[response.batch]?[entry] = true
        books.open -= 1
      }
    }
  }

  private static func name(_ response: HTTP2Response) -> String {
    switch response.outcome {
    case .answered(let status, _, _): "\(status)"
    case .unsent: "unsent"
    case .unanswered: "unanswered"
    }
  }
}

/// A script that does something else with each connection and request, by a seed.
private final class FaultyServer: Sendable {
  private struct State {
    var random: SeededGenerator
    var isCalm = false
  }

  private let state: Lock<State>

  init(seed: UInt64) { state = Lock(State(random: SeededGenerator(seed))) }

  /// From now on everything is answered.
  func calmDown() { state.withLock { $0.isCalm = true } }

  /// 0 ..< bound; 0 when calm.
  private func roll(_ bound: Int) -> Int {
    state.withLock { state in state.isCalm ? 0 : Int.random(in: 0..<bound, using: &state.random) }
  }

  func manners(_: Int) -> RawPeer.Manners {
    switch roll(50) {
    case 45: .closing
    case 46: .silent
    case 47: .plainHTTP
    case 48: .slow(.milliseconds(roll(300)))
    default: .frames
    }
  }

  func take(_ event: RawPeer.Event, _ peer: PeerConnection) {
    switch event {
    case .connected: greet(peer)
    case .request(let stream): serve(stream, peer)
    case .frame(type: 6, flags: 0, _, let payload):
      if roll(20) != 19 { peer.send(type: 6, flags: 1, stream: 0, payload) }
    case .frame(type: 0, _, let stream, let payload):
      // Windows are opened again, the connection's always, the stream's at times late.
      peer.windowUpdate(0, UInt32(max(1, payload.count)))
      peer.windowUpdate(stream, UInt32(max(1, payload.count)))
    case .frame, .closed: return
    }
  }

  private func greet(_ peer: PeerConnection) {
    switch roll(40) {
    case 36: return
    case 37: peer.abort()
    case 38:
      peer.settings()
      peer.goAway(last: 0, text: "no")
    case 39: later(50, peer) { peer.settings([3: 10]) }
    default:
      peer.settings([3: 100, 4: 65_535])
      // Whole bodies carry no frame event: their windows are opened at once.
      peer.windowUpdate(0, 0x7000_0000)
    }
  }

  private func serve(_ stream: UInt32, _ peer: PeerConnection) {
    switch roll(1000) {
    case 600..<660:
      peer.answer(
        stream, ["400", "403", "410", "429", "500", "503"][roll(6)], fields: [("retry-after", "1")], body: "{}")
    case 660..<690: for _ in 0..<7 { peer.answer(stream, "503") }
    case 690..<730: peer.reset(stream, 7)
    case 730..<750:
      peer.reset(stream, 7)
      peer.reset(stream, 5)
    case 750..<770: peer.reset(stream, UInt32(roll(14)))
    case 770..<790: return
    case 790..<830: later(300, peer) { peer.answer(stream) }
    case 830..<850:
      peer.settings([3: [0, 1, 2, 5, 50, 500, 1000][roll(7)] as UInt32])
      later(100, peer) { peer.settings([3: 100]) }
      peer.answer(stream)
    case 850..<860:
      peer.settings([1: UInt32(roll(8192)), 4: UInt32(roll(100_000)), 6: 8000])
      peer.answer(stream)
    case 860..<866: leave(stream, peer)
    case 866..<869: peer.abort()
    case 869..<872: peer.cut()
    case 872..<875: peer.close()
    case 875..<878:
      peer.raw([0, 0, 20, 1, 4, 0, 0, 0, UInt8(truncatingIfNeeded: stream), 0x88])
      peer.cut()
    case 878..<881:
      peer.send(
        type: UInt8(roll(10)), flags: UInt8(roll(256)), stream: UInt32(roll(40)), [UInt8](repeating: 0, count: roll(20))
      )
    case 881..<884:
      peer.pause()
      peer.after(.milliseconds(roll(150))) { peer.resume() }
      peer.answer(stream)
    case 884..<890:
      peer.send(type: 1, flags: 4, stream: stream, [0x08, 3] + Array("103".utf8))
      peer.answer(stream)
    case 890..<895:
      peer.send(type: 1, flags: 4, stream: stream, [0x08, 3] + Array("400".utf8))
      if roll(2) == 1 { peer.reset(stream, 0) }
    case 895..<900: peer.answer(stream, "500", body: String(repeating: "x", count: roll(60_000)))
    default: peer.answer(stream)
    }
  }

  private func leave(_ stream: UInt32, _ peer: PeerConnection) {
    let last = [0, stream, stream &- 2, 0x7fff_ffff][roll(4)]
    peer.goAway(last: last, code: UInt32(roll(14)), text: #"{"reason":"Shutdown"}"#)
    if roll(2) == 1 { peer.goAway(last: roll(2) == 1 ? 0 : stream) }
    if roll(3) == 1 { peer.answer(stream) }
    if roll(3) == 1 { peer.close() }
  }

  /// Does something in up to `milliseconds`, unless the connection is gone by then.
  private func later(_ milliseconds: Int, _ peer: PeerConnection, _ body: @escaping () -> Void) {
    peer.after(.milliseconds(roll(milliseconds))) { if !peer.isClosed { body() } }
  }
}

/// The same numbers for the same seed (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var value = state
    value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
    value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
    return value ^ (value >> 31)
  }
}
