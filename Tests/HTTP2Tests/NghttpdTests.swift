import EventLoop
import Foundation
import HTTP2
import Operations
import Support
import Testing

/// A running nghttpd, nghttp2's own server: a peer that is not ours.
private final class Nghttpd {
  static let path = "/usr/sbin/nghttpd"
  static var isUsable: Bool {
    FileManager.default.isExecutableFile(atPath: path) || ProcessInfo.processInfo.environment["CI"] == "true"
  }

  let process: RunningProgram
  let port: UInt16

  init(_ options: [String] = []) throws {
    let socket = try Socket.listen(host: "127.0.0.1", port: 0)
    port = try #require(socket.localAddress?.port)
    socket.close()
    process = try BuiltProgram(path: Self.path).start(
      ["--address=127.0.0.1", "--echo-upload"] + options
        + ["\(port)", Fixture.path("server.key"), Fixture.path("server.pem")])
  }

  /// A client once the server takes connections.
  func client(connections: Int = 1) async throws -> TestClient {
    let deadline = SystemClocks().monotonicTime() + .seconds(20)
    while true {
      let client = try TestClient(port: port, connections: connections)
      guard let failure = await client.client.connect(client.origin) else { return client }
      await client.close()
      try #require(SystemClocks().monotonicTime() < deadline, "nghttpd does not come up: \(failure)")
    }
  }

  /// Kills it, and gives what it wrote.
  @discardableResult func stop() async throws -> String {
    process.signal(SIGKILL)
    return try await process.result().output
  }
}

@Suite(
  .timeLimit(.minutes(1)), .serialized,
  .enabled(if: Nghttpd.isUsable, "install nghttpd (Debian: nghttp2-server) to run these"))
struct NghttpdTests {
  @Test("Ten thousand requests are each answered once, with their own body back")
  func manyRequests() async throws {
    let server = try Nghttpd(["--max-concurrent-streams=100"])
    let client = try await server.client()
    let body = Array(String(repeating: "b", count: 250).utf8)
    for batch in 0..<10 { try client.submit(1000, id: UInt64(batch), body: body) }

    let responses = await client.responses(10_000)

    expectEachOnce(responses, 10_000)
    for response in responses {
      guard case .answered(200, body, _) = response.outcome else {
        Issue.record("\(response.outcome)")
        break
      }
    }
    await client.close()
    try await server.stop()
  }

  @Test(
    "nghttpd's decoder sees the fields of every request, whatever its table size", arguments: [4096, 0, 100, 65_536])
  func fields(tableSize: Int) async throws {
    let server = try Nghttpd(["--verbose", "--header-table-size=\(tableSize)"])
    let client = try await server.client()
    for batch in 0..<6 { try client.submit(20, id: UInt64(batch), topic: "com.example.app\(batch % 3)") }

    let responses = await client.responses(120)
    await client.close()
    let text = try await server.stop()

    #expect(responses.allSatisfy { $0.status == 200 })
    func count(_ line: String) -> Int { text.components(separatedBy: line).count - 1 }
    #expect(count(":method: POST\n") == 120)
    #expect(count(":scheme: https\n") == 120)
    #expect(count(":authority: localhost\n") == 120)
    #expect(count("authorization: bearer secret\n") == 120)
    for topic in 0..<3 { #expect(count("apns-topic: com.example.app\(topic)\n") == 40) }
    for batch in 0..<6 {
      for number in 0..<20 { #expect(count(":path: /3/device/device-\(batch)-\(number)\n") == 1) }
    }
    #expect(count("apns-id: 00000000-0000-4000-8000-100019\n") == 6)
  }

  @Test("Bodies larger than the peer's windows arrive whole")
  func largeBodies() async throws {
    let server = try Nghttpd(["--max-concurrent-streams=100", "--window-bits=16", "--connection-window-bits=16"])
    let client = try await server.client()
    let body = [UInt8](repeating: 0x78, count: 12_000)
    try client.submit(300, body: body)

    let responses = await client.responses(300)

    expectEachOnce(responses, 300)
    for response in responses {
      guard case .answered(200, body, _) = response.outcome else {
        Issue.record("a body is not the one that was sent")
        break
      }
    }
    await client.close()
    try await server.stop()
  }

  @Test("Batches from many threads at once are each answered once")
  func manyThreads() async throws {
    let server = try Nghttpd(["--max-concurrent-streams=100"])
    let client = try await server.client(connections: 2)
    await withTaskGroup { group in
      for sender in 0..<8 {
        group.addTask {
          for batch in 0..<10 {
            do { try client.submit(50, id: UInt64(sender * 10 + batch)) } catch { Issue.record(error) }
          }
        }
      }
    }
    let responses = await client.responses(4000)
    expectEachOnce(responses, 4000)
    #expect(responses.allSatisfy { $0.status == 200 })
    await client.close()
    try await server.stop()
  }

  @Test("When the server is killed in the middle, every request still ends exactly once")
  func killed() async throws {
    let server = try Nghttpd(["--max-concurrent-streams=100"])
    let client = try await server.client()
    for batch in 0..<20 { try client.submit(1000, id: UInt64(batch)) }
    _ = await client.responses(500)

    server.process.signal(SIGKILL)
    let responses = await client.responses(20_000)
    await client.close()

    expectEachOnce(client.received, 20_000)
    #expect(responses.count { $0.unanswered != nil } <= 100)
    #expect(responses.contains { $0.unsent?.isConnectFailure == true })
    try await server.stop()
  }
}
