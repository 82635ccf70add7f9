import EventLoop
import HTTP2
import OpenSSL
import Operations
import Support
import Testing

@testable import APNsSimulator

@Suite("What a server's reply can do")
struct ServerReplyTests {
  @Test("a reset ends the stream with its error code and nothing else", .timeLimit(.minutes(1)))
  func reset() async throws {
    try await withServer({ reply in reply.outcome = .reset(errorCode: 11) }) { peer in
      let frames = try await peer.frames { $0.contains { $0.type == 3 } }

      #expect(frames.filter { $0.stream == 1 }.map(\.type) == [3])
      #expect(frames.last?.payload == [0, 0, 0, 11])
    }
  }

  @Test("silence leaves the stream open and the connection usable", .timeLimit(.minutes(1)))
  func silence() async throws {
    try await withServer({ reply in reply.outcome = .silence }) { peer in
      try await eventually("a PING is answered") { try await peer.pingIsAnswered() }

      #expect(try await peer.frames { _ in true }.allSatisfy { $0.stream == 0 })
    }
  }

  @Test("settings go before the answer, GOAWAY and the end of the connection after it", .timeLimit(.minutes(1)))
  func commands() async throws {
    try await withServer({ reply in
      reply.status = 503
      reply.body = Array("{}".utf8)
      reply.commandsBefore = [.settings([.maxConcurrentStreams(7), .initialWindowSize(1)])]
      reply.commandsAfter = [
        .goAway(lastStream: 2_147_483_647, errorCode: 0, debugData: []),
        .goAway(lastStream: nil, errorCode: 2, debugData: Array("text".utf8)), .close,
      ]
    }) { peer in
      let frames = try await peer.framesToEnd()

      let own = frames.filter { !($0.type == 4 && $0.flags == 1) }.dropFirst()
      #expect(RawFrames.settings(in: own.first?.payload ?? []) == [3: 7, 4: 1])
      // GOAWAY is urgent to nghttp2 and overtakes the answer that it does not forbid.
      #expect(own.filter { $0.type == 7 }.map { $0.payload.prefix(4) } == [[0x7F, 0xFF, 0xFF, 0xFF], [0, 0, 0, 1]])
      #expect(own.last { $0.type == 7 }.map { $0.payload.dropFirst(4) } == [0, 0, 0, 2] + Array("text".utf8)[...])
      #expect(own.contains { $0.type == 1 && $0.stream == 1 })
      #expect(own.contains { $0.type == 0 && $0.payload == Array("{}".utf8) })
    }
  }

  @Test("a delayed reply to a stream that the client has reset is dropped", .timeLimit(.minutes(1)))
  func resetByClient() async throws {
    try await withServer({ reply in reply.delay = .milliseconds(50) }) { peer in
      peer.send(RawFrames.frame(type: 3, flags: 0, stream: 1, [0, 0, 0, 8]))
      peer.send(RawFrames.request(stream: 3) + RawFrames.data(stream: 3, "{}"))
      let frames = try await peer.frames { $0.contains { $0.type == 1 } }

      #expect(frames.filter { $0.type == 1 }.map(\.stream) == [3])
    }
  }

  @Test("an answer larger than the client's window is sent as the window opens", .timeLimit(.minutes(1)))
  func largeAnswer() async throws {
    try await withServer({ reply in reply.body = [UInt8](repeating: 97, count: 100_000) }) { peer in
      _ = try await peer.frames { Self.dataByteCount($0) == 65535 }
      for stream in [0, 1] { peer.send(RawFrames.frame(type: 8, flags: 0, stream: stream, [0, 0, 0xFF, 0xFF])) }

      let frames = try await peer.frames { $0.contains { $0.type == 0 && $0.flags & 1 == 1 } }

      #expect(Self.dataByteCount(frames) == 100_000)
    }
  }

  private static func dataByteCount(_ frames: [RawFrame]) -> Int {
    frames.filter { $0.type == 0 }.reduce(0) { $0 + $1.payload.count }
  }

  /// Runs `body` with a client that has sent one request to a server with that reply.
  private func withServer(
    _ fill: @escaping @Sendable (inout ServerReply) -> Void, _ body: (RawPeer) async throws -> Void
  ) async throws {
    let folder = try TemporaryDirectory()
    let directory = TLSDirectory(path: folder.path)
    let tls = try TLSContext(
      server: TLSServerConfiguration(try directory.prepare(names: [], now: SystemClocks().wallTime())))
    let port = Watched<UInt16?>(nil)
    let thread = try LoopThread(name: "server") { loop in
      let server = HTTP2Server(
        loop: loop, tls: tls, configuration: ServerConfiguration(settings: [.maxConcurrentStreams(100)]),
        handler: ScriptedHandler(fill))
      guard let socket = try? Socket.listen(host: "127.0.0.1", port: 0) else { return }
      try? server.listen(on: socket)
      let number = socket.localAddress?.port
      port.update { $0 = number }
    }
    defer { thread.stop() }
    let bound = try #require(try await port.wait("the server listens") { $0 != nil })
    let peer = try RawPeer(port: Int(bound), authorityFile: directory.authorityFile)
    peer.send(RawFrames.preface + RawFrames.settings + RawFrames.settingsAcknowledged)
    peer.send(RawFrames.request(stream: 1) + RawFrames.data(stream: 1, "{}"))

    try await body(peer)
  }
}

/// Gives every request the same reply.
private final class ScriptedHandler: ServerHandler {
  private let fill: (inout ServerReply) -> Void

  init(_ fill: @escaping (inout ServerReply) -> Void) { self.fill = fill }

  func connectionOpened(_ connection: UInt64) {}
  func connectionClosed(_ connection: UInt64) {}
  func violated(_ violation: ServerViolation, connection: UInt64) {}
  func received(_ request: ServerRequest, reply: inout ServerReply) { fill(&reply) }
}
