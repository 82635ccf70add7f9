import Foundation
import JSON
import Support
import Testing

@testable import APNsSimulator

@Suite("HTTP/2 and TLS of the server")
struct ProtocolTests {
  @Test("h2load gets 200 for each of many requests on many streams, and all are counted", .timeLimit(.minutes(2)))
  func load() async throws {
    let simulator = try await SimulatorProcess(listeners: ["127.0.0.1:0"], checks: false, logs: false)
    let body = try simulator.folder.write(#"{"aps":{"alert":"a"}}"#, to: "body")

    let result = try await BuiltProgram(path: "/usr/bin/h2load").run(
      [
        "-n", "20000", "-c", "2", "-m", "1000", "-d", body, "-H",
        "apns-id: 123e4567-e89b-12d3-a456-4266554400a0", "https://127.0.0.1:\(simulator.ports[0])/3/device/0a0b",
      ], deadline: .seconds(60))

    #expect(result.output.contains("20000 succeeded, 0 failed"), "\(result.output)")
    let summary = try await simulator.summary()
    #expect(summary["requests"]?.integer == 20000)
    #expect(summary["accepted"]?.integer == 20000)
    #expect(summary["distinct_devices"]?.integer == 1)
    #expect(summary["duplicates"]?.integer == 19999)
    #expect(summary["connections"]?.integer == 2)
    #expect(try #require(summary["max_streams"]?.integer) > 100)
  }

  @Test("delayed answers are kept apart, thousands at a time", .timeLimit(.minutes(2)))
  func delayedLoad() async throws {
    let simulator = try await SimulatorProcess(
      ["--delay", "20ms"], listeners: ["127.0.0.1:0"], checks: false, logs: false)

    let result = try await BuiltProgram(path: "/usr/bin/h2load").run(
      ["-n", "10000", "-c", "1", "-m", "1000", "https://127.0.0.1:\(simulator.ports[0])/3/device/0a0b"],
      deadline: .seconds(60))

    #expect(result.output.contains("10000 succeeded, 0 failed"), "\(result.output)")
  }

  @Test("streams opened before the settings are known are refused and counted", .timeLimit(.minutes(1)))
  func streamsBeforeSettings() async throws {
    let simulator = try await SimulatorProcess()

    let peer = try RawPeer(simulator)

    peer.send(RawFrames.preface + RawFrames.settings)
    for stream in [1, 3, 5] { peer.send(RawFrames.request(stream: stream) + RawFrames.data(stream: stream, "{}")) }
    let frames = try await peer.frames { $0.count { $0.type == 3 } == 2 && $0.contains { $0.type == 1 } }
    peer.close()

    #expect(frames.filter { $0.type == 1 }.map(\.stream) == [1])
    let resets = frames.filter { $0.type == 3 }
    #expect(resets.map(\.stream) == [3, 5])
    #expect(resets.allSatisfy { $0.payload == [0, 0, 0, 7] }, "the error code is REFUSED_STREAM")
    #expect(try await simulator.summary()["violations"]?["streams_before_settings"]?.integer == 2)
  }

  @Test("if the first settings allow no stream, one is nobody's fault, and a second one is", .timeLimit(.minutes(1)))
  func noStreamBeforeSettings() async throws {
    let simulator = try await LocalSimulator(
      #"{"rules":[{"at":"connection","do":{"settings":{"max_concurrent_streams":0}}}]}"#)
    let client = RawClient(
      try RawPeer(port: simulator.port, authorityFile: simulator.authorityFile), acknowledges: false)

    try await client.push(1)
    let afterFirst = simulator.summary.violations
    let second = try await client.push(3)

    #expect(afterFirst == [:])
    #expect(second.map(\.type) == [3])
    #expect(simulator.summary.violations == [.streamsBeforeSettings: 1])
  }

  @Test("streams that are open at once are counted before any request is whole", .timeLimit(.minutes(1)))
  func openStreams() async throws {
    let simulator = try await LocalSimulator(
      #"{"rules":[{"at":"connection","do":{"settings":{"max_concurrent_streams":500}}}]}"#)
    let client = try simulator.client()
    let fields = try RawClient.fields()

    for number in 0..<10 { client.peer.send(RawFrames.headers(stream: 2 * number + 1, fields, endsStream: false)) }
    for stream in [1, 3] { client.peer.send(RawFrames.frame(type: 3, flags: 0, stream: stream, [0, 0, 0, 8])) }
    try await client.settle()

    #expect(simulator.summary.requests == 0)
    #expect(simulator.summary.maxStreams == 10)
  }

  @Test("a second stream before the first accepted request ends the connection and is counted", .timeLimit(.minutes(1)))
  func tooManyStreams() async throws {
    let simulator = try await SimulatorProcess()
    let peer = try RawPeer(simulator)

    peer.send(RawFrames.preface + RawFrames.settings + RawFrames.settingsAcknowledged)
    peer.send(RawFrames.request(stream: 1, endsStream: false) + RawFrames.request(stream: 3, endsStream: false))

    let frames = try await peer.framesToEnd()
    let goAway = try #require(frames.last { $0.type == 7 })
    #expect(goAway.payload[4..<8].elementsEqual([0, 0, 0, 1]), "the error code is PROTOCOL_ERROR")
    #expect(try await simulator.summary()["violations"]?["concurrent_streams"]?.integer == 1)
  }

  @Test("the settings are one stream at first and a thousand after an accepted request", .timeLimit(.minutes(1)))
  func settings() async throws {
    let simulator = try await SimulatorProcess()
    let peer = try RawPeer(simulator)
    let token = try SimulatorProcess.providerToken.get()

    peer.send(RawFrames.preface + RawFrames.settings + RawFrames.settingsAcknowledged)
    peer.send(RawFrames.request(stream: 1) + RawFrames.data(stream: 1, "{}"))
    _ = try await peer.frames { $0.contains { $0.type == 1 && $0.stream == 1 } }
    peer.send(
      RawFrames.request(stream: 3, ["authorization": "bearer \(token)", "apns-topic": "com.example.app"])
        + RawFrames.data(stream: 3, "{}"))
    let frames = try await peer.frames { $0.contains { $0.type == 1 && $0.stream == 3 } }
    peer.close()

    let settings = frames.filter { $0.type == 4 && $0.flags == 0 }.map { RawFrames.settings(in: $0.payload) }
    #expect(settings.count == 2)
    #expect(settings.first == [3: 1, 6: 8000])
    #expect(settings.last == [3: 1000])
    // The refused request did not raise the limit; the accepted one did, before its answer.
    let order = frames.filter { ($0.type == 4 && $0.flags == 0) || $0.type == 1 }.map { [Int($0.type), $0.stream] }
    #expect(order == [[4, 0], [1, 1], [4, 0], [1, 3]])
  }

  @Test("at its end the server says GOAWAY with its reason and finishes what is under way", .timeLimit(.minutes(1)))
  func shutdown() async throws {
    let simulator = try await LocalSimulator(checks: false)
    let client = try simulator.client()

    client.peer.send(RawFrames.headers(stream: 1, try RawClient.fields(), endsStream: false))
    try await client.settle()
    async let summary = simulator.simulator.stop(grace: .seconds(30))
    _ = try await client.peer.frames { $0.contains { $0.type == 7 } }
    client.peer.send(RawFrames.data(stream: 1, "{}"))
    let frames = try await client.peer.framesToEnd()

    let goAway = try #require(frames.firstIndex { $0.type == 7 })
    #expect(frames[goAway].payload[..<8].elementsEqual([0, 0, 0, 1, 0, 0, 0, 0]))
    #expect(String(decoding: frames[goAway].payload[8...], as: UTF8.self) == #"{"reason":"Shutdown"}"#)
    let answer = try #require(frames.firstIndex { $0.type == 1 })
    #expect(answer > goAway)
    #expect(await summary.accepted == 1)
  }

  @Test("a client that does not offer h2, or no TLS at all, is turned away and counted", .timeLimit(.minutes(1)))
  func handshakes() async throws {
    let simulator = try await SimulatorProcess()
    let openssl = OpenSSLClient(simulator)

    let http1 = try await openssl.connect(["-alpn", "http/1.1"])
    // TLS without ALPN is set up, and then closed.
    _ = try await openssl.connect([])
    let old = try await openssl.connect(["-alpn", "h2", "-tls1_1", "-cipher", "DEFAULT@SECLEVEL=0"])
    let plain = try await BuiltProgram(path: "/usr/bin/curl").run([
      "--silent", "http://127.0.0.1:\(simulator.ports[0])/",
    ])

    #expect([http1.status, old.status, plain.status].allSatisfy { $0 != 0 })
    #expect(try await simulator.summary()["violations"]?["handshake"]?.integer == 4)
  }

  @Test("a client is asked for a certificate and may have none", .timeLimit(.minutes(1)))
  func certificateRequest() async throws {
    let simulator = try await SimulatorProcess()

    let result = try await OpenSSLClient(simulator).connect(["-alpn", "h2", "-tls1_2"])

    #expect(result.output.contains("ALPN protocol: h2"), "\(result.output)")
    #expect(result.output.contains("Client Certificate Types:"))
  }

  @Test("a connection that breaks the protocol is closed and counted", .timeLimit(.minutes(1)))
  func brokenProtocol() async throws {
    let simulator = try await SimulatorProcess()
    let peer = try RawPeer(simulator)

    // DATA on a stream that was never opened.
    peer.send(RawFrames.preface + RawFrames.settings + RawFrames.data(stream: 1, "{}"))

    let frames = try await peer.framesToEnd()
    #expect(frames.last?.type == 7)
    #expect(try await simulator.summary()["violations"]?["protocol"]?.integer == 1)
  }

  @Test("a client that is not nghttp2 is served: hyper-h2 through Python's httpx", .timeLimit(.minutes(1)))
  func otherImplementation() async throws {
    let python = BuiltProgram(path: "/usr/bin/python3")
    let probe = try await python.run(["-c", "import httpx, h2"])
    guard probe.status == 0 else {
      // apt-get install python3-httpx python3-h2
      try #require(
        ProcessInfo.processInfo.environment["CI"] != "true", "python3-httpx and python3-h2 are not installed")
      return
    }
    let simulator = try await SimulatorProcess()
    let token = try SimulatorProcess.providerToken.get()
    let script = """
      import httpx, sys
      client = httpx.Client(http2=True, verify=sys.argv[1])
      for name in ("0a", "0b", "zz"):
          answer = client.post(f"https://localhost:{sys.argv[2]}/3/device/{name}", content=b'{"aps":{"alert":"a"}}',
              headers={"authorization": "bearer " + sys.argv[3], "apns-topic": "com.example.app"})
          print(answer.http_version, answer.status_code, answer.text)
      """

    let result = try await python.run(["-c", script, simulator.authorityFile, String(simulator.ports[0]), token])

    #expect(
      result.lines == ["HTTP/2 200 ", "HTTP/2 200 ", #"HTTP/2 400 {"reason":"BadDeviceToken"}"#],
      "\(result.errorOutput)")
    #expect(try simulator.log().map { $0["connection"]?.integer } == [1, 1, 1])
  }
}
