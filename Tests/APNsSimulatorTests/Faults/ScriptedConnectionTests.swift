import Foundation
import JSON
import Operations
import Support
import Testing

@testable import APNsSimulator

@Suite("What a script does to connections")
struct ScriptedConnectionTests {
  @Test("goaway-last-stream: GOAWAY, the answers of its streams, and the end", .timeLimit(.minutes(1)))
  func goAwayLastStream() async throws {
    let simulator = try await LocalSimulator(try SimulatorFixture.text("scripts/goaway-last-stream.json"))
    let client = try simulator.client()

    for stream in [1, 3, 5, 7, 9] { try client.send(stream) }
    let frames = try await client.peer.framesToEnd()

    let goAway = try #require(frames.firstIndex { $0.type == 7 })
    #expect(frames[goAway].number(at: 0) == 5)
    #expect(
      String(decoding: frames[goAway].payload[8...], as: UTF8.self)
        == #"{"reason":"Shutdown","timestamp":1700000000000}"#)
    #expect(frames[goAway...].filter { $0.type == 1 }.map(\.stream) == [1, 3, 5])
    #expect(frames[..<goAway].allSatisfy { $0.type != 1 })
    let next = try await simulator.client().push(1)
    #expect(next.map(\.type) == [1])
  }

  @Test("goaway-then-cut: one answer, GOAWAY, and a broken connection", .timeLimit(.minutes(1)))
  func goAwayThenCut() async throws {
    let simulator = try await LocalSimulator(try SimulatorFixture.text("scripts/goaway-then-cut.json"))
    let client = try simulator.client()

    try await client.push(1)
    client.peer.send(RawFrames.settingsAcknowledged)
    for stream in [3, 5, 7] { try client.send(stream) }
    let frames = try await client.peer.framesToEnd()

    #expect(frames.filter { $0.type == 1 }.map(\.stream) == [1])
    #expect(frames.filter { $0.type == 7 }.map { $0.number(at: 0) } == [5])
  }

  @Test("silent-accept and close-after-accept", .timeLimit(.minutes(1)))
  func silentAndClosed() async throws {
    let silent = try await LocalSimulator(try SimulatorFixture.text("scripts/silent-accept.json"))
    let patient = try silent.client()
    try patient.send(1)
    try await patient.settle()
    let closing = try await LocalSimulator(try SimulatorFixture.text("scripts/close-after-accept.json"))
    let hurt = try closing.client()
    try hurt.send(1)

    #expect(try await patient.peer.frames { _ in true }.allSatisfy { $0.stream == 0 })
    #expect(silent.summary.byReason == ["silence": 1])
    #expect(try await hurt.peer.framesToEnd().allSatisfy { $0.type != 1 && $0.type != 7 })
    #expect(try await closing.client().push(1).map(\.type) == [1])
  }

  @Test("two GOAWAYs: the notice, then the real one", .timeLimit(.minutes(1)))
  func twoGoAways() async throws {
    let simulator = try await LocalSimulator(
      """
      {"rules":[{"limit":1,"do":{"goaway":[{"last_stream":"max","debug_data":""},
        {"last_stream":"this","error":"ENHANCE_YOUR_CALM","debug_data":"calm down","after":"50ms"}]}}]}
      """)
    let client = try simulator.client()

    try client.send(1)
    let frames = try await client.peer.framesToEnd()

    let goAways = frames.filter { $0.type == 7 }
    #expect(goAways.map { [$0.number(at: 0), $0.number(at: 4)] } == [[0x7FFF_FFFF, 0], [1, 11]])
    #expect(goAways.map { String(decoding: $0.payload[8...], as: UTF8.self) } == ["", "calm down"])
  }

  @Test(
    "which stream a GOAWAY names, and whether the request is still answered", .timeLimit(.minutes(1)),
    arguments: [("0", 0, false), (#""this""#, 3, true), (#""last""#, 3, true), ("1", 1, false)])
  func lastStream(word: String, number: Int, isAnswered: Bool) async throws {
    let simulator = try await LocalSimulator(
      #"{"rules":[{"match":{"request":2},"do":{"goaway":{"last_stream":\#(word),"then":"close"}}}]}"#)
    let client = try simulator.client()

    try await client.push(1)
    try client.send(3)
    let frames = try await client.peer.framesToEnd()

    #expect(frames.last { $0.type == 7 }?.number(at: 0) == number)
    #expect(frames.contains { $0.type == 1 && $0.stream == 3 } == isAnswered)
  }

  @Test("settings change with a request, and a limit of 0 stays", .timeLimit(.minutes(1)))
  func settings() async throws {
    let simulator = try await LocalSimulator(
      #"{"rules":[{"do":{"settings":{"max_concurrent_streams":0,"initial_window_size":1},"ping":true}}]}"#)
    let client = try simulator.client()

    try await client.push(1)
    let frames = try await client.peer.frames { $0.contains { $0.type == 6 && $0.flags == 0 } }

    let settings = frames.filter { $0.type == 4 && $0.flags == 0 }.map { RawFrames.settings(in: $0.payload) }
    #expect(settings == [[3: 1, 6: 8000], [3: 0, 4: 1]])
  }

  @Test("a connection may begin with other settings, late, or without any", .timeLimit(.minutes(1)))
  func firstSettings() async throws {
    let simulator = try await LocalSimulator(
      """
      {"rules":[
        {"at":"connection","match":{"connection":1},"do":{"settings":{"max_concurrent_streams":500}}},
        {"at":"connection","match":{"connection":2},"do":{"slow_settings":"300ms","slow_handshake":"100ms"}},
        {"at":"connection","match":{"connection":3},"do":{"no_settings":true}},
      ]}
      """)
    let first = try simulator.client()
    try await first.push(1)
    let firstFrames = try await first.peer.frames { _ in true }
    let start = SystemClocks().monotonicTime()
    let second = try simulator.client()
    try await second.push(1)
    let waited = SystemClocks().monotonicTime().since(start)
    let secondFrames = try await second.peer.frames { _ in true }
    let third = try simulator.client()
    try third.send(1)
    try await eventually("the third request is read") { simulator.summary.requests == 3 }

    #expect(
      firstFrames.filter { $0.type == 4 && $0.flags == 0 }.map { RawFrames.settings(in: $0.payload) } == [
        [3: 500, 6: 8000]
      ])
    #expect(waited >= .milliseconds(400))
    #expect(secondFrames.first?.type == 4 && secondFrames.first?.flags == 0)
    #expect(try await third.peer.frames { _ in true }.isEmpty)
  }

  @Test("without WINDOW_UPDATE a client may send 65,535 bytes and no more", .timeLimit(.minutes(1)))
  func windows() async throws {
    for (action, updates) in [("", true), (#""no_window_update":true"#, false)] {
      let simulator = try await LocalSimulator(#"{"rules":[{"at":"connection","do":{\#(action)}}]}"#)
      let client = try simulator.client()
      client.peer.send(RawFrames.headers(stream: 1, try RawClient.fields(), endsStream: false))
      let piece = [UInt8](repeating: 97, count: 16000)
      for _ in 0..<4 { client.peer.send(RawFrames.frame(type: 0, flags: 0, stream: 1, piece)) }
      try await client.settle()

      #expect(try await client.peer.frames { _ in true }.contains { $0.type == 8 } == updates)
    }
  }

  @Test("a half-dead connection answers nothing, not even a PING, and stays open", .timeLimit(.minutes(1)))
  func halfDead() async throws {
    let simulator = try await LocalSimulator(
      #"{"rules":[{"match":{"request":2},"do":{"half_dead":true}},{"at":"connection","match":{"connection":2},"#
        + #""do":{"half_dead":true}}]}"#)
    let client = try simulator.client()
    try await client.push(1)
    try client.send(3)
    try await eventually("the request is read") { simulator.summary.requests == 2 }
    let before = try await client.peer.frames { _ in true }.count
    _ = try await client.peer.pingIsAnswered()
    let other = try simulator.client()
    try other.send(1)
    try await eventually("it is connected") { simulator.summary.connections == 2 }
    try await simulator.client().push(1)

    #expect(try await client.peer.frames { _ in true }.count == before)
    #expect(try await other.peer.frames { _ in true }.allSatisfy { $0.type == 4 && $0.flags == 0 })
    #expect(simulator.summary.requests == 3)
  }

  @Test("connections are refused, in a storm too", .timeLimit(.minutes(1)))
  func refused() async throws {
    let simulator = try await LocalSimulator(
      """
      {"rules":[{"at":"connection","match":{"connection":1},"do":{"refuse":true}},
        {"at":"connection","match":{"storm":{"connections":2,"within":"1h"}},"do":{"refuse":true}}]}
      """)
    var statuses: [Int32] = []
    for _ in 1...3 {
      let client = OpenSSLClient(port: simulator.port, authorityFile: simulator.authorityFile)
      statuses.append(try await client.connect(["-alpn", "h2"]).status)
    }

    #expect(statuses.map { $0 == 0 } == [false, true, false])
    #expect(simulator.summary.connections == 1)
    #expect(simulator.summary.violations.isEmpty)
  }

  @Test(
    "a connection ends with TLS's farewell, with FIN alone or with RST, also while its client goes on writing",
    .timeLimit(.minutes(1)),
    arguments: [
      (#""close":"tls""#, ["b''"]), (#""goaway":{"last_stream":"this"}"#, ["b''"]),
      (#""never_answer":true,"close":"fin""#, ["SSLError"]),
      (#""never_answer":true,"close":"reset""#, ["ConnectionResetError", "BrokenPipeError", "SSLEOFError"]),
    ])
  func endings(action: String, outcomes: [String]) async throws {
    let simulator = try await LocalSimulator(#"{"rules":[{"do":{\#(action)}}]}"#, checks: false)
    let script = """
      import socket, ssl, sys, h2.connection
      context = ssl.create_default_context(cafile=sys.argv[2])
      context.set_alpn_protocols(["h2"])
      context.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
      sock = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))),
          server_hostname="localhost", suppress_ragged_eofs=False)
      conn = h2.connection.H2Connection()
      conn.initiate_connection()
      conn.send_headers(1, [(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/3/device/0a")],
          end_stream=True)
      sock.sendall(conn.data_to_send())
      try:
          for _ in range(1000): conn.ping(b"12345678")
          pings = conn.data_to_send()
          for _ in range(300): sock.sendall(pings)
          while (data := sock.recv(65536)): pass
          print(data)
      except OSError as error: print(type(error).__name__)
      """

    let result = try await BuiltProgram(path: "/usr/bin/python3").run([
      "-c", script, String(simulator.port), simulator.authorityFile,
    ])

    #expect(outcomes.contains(result.output.trimmingCharacters(in: .newlines)), "\(result)")
  }

  @Test("clock, revoked key, removed topic and environment change what is accepted", .timeLimit(.minutes(1)))
  func credentials() async throws {
    let expected = [
      #""clock":"+70m""#: "ExpiredProviderToken", #""revoke_key":"TESTKEY001""#: "InvalidProviderToken",
      #""remove_topic":{"topic":"com.example.app"}"#: "TopicDisallowed",
      #""remove_topic":{"topic":"com.example.app","key":"TESTKEY001"}"#: "TopicDisallowed",
      #""switch_environment":{"key":"TESTKEY001","environment":"sandbox"}"#: "BadEnvironmentKeyInToken",
    ]
    for (action, reason) in expected {
      let simulator = try await LocalSimulator(#"{"rules":[{"match":{"request":2},"do":{\#(action)}}]}"#)
      let client = try simulator.client()
      for stream in [1, 3, 5] { try await client.push(stream) }

      #expect(try simulator.log().map { $0["reason"]?.string } == [nil, reason, reason], "\(action)")
    }
  }

  @Test("a client that is not nghttp2 understands every frame: hyper-h2", .timeLimit(.minutes(1)))
  func otherImplementation() async throws {
    let simulator = try await LocalSimulator(
      """
      {"rules":[
        {"limit":1,"do":{"rst_stream_after_answer":"NO_ERROR","ping":true}},
        {"limit":1,"do":{"rst_stream":["REFUSED_STREAM","STREAM_CLOSED"],"settings":{"initial_window_size":70000}}},
        {"limit":1,"do":{"never_answer":true,"goaway":{"last_stream":"this","debug_data":"bye","then":"close"}}},
      ]}
      """, checks: false)
    let script = """
      import socket, ssl, sys, h2.connection, h2.events, h2.config
      context = ssl.create_default_context(cafile=sys.argv[2])
      context.set_alpn_protocols(["h2"])
      sock = context.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))), server_hostname="localhost")
      conn = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8"))
      conn.initiate_connection()
      stream, seen = None, []
      def push():
          global stream
          stream = conn.get_next_available_stream_id()
          conn.send_headers(stream, [(":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
              (":path", "/3/device/0a")])
          conn.send_data(stream, b"{}", end_stream=True)
      push()
      sock.sendall(conn.data_to_send())
      while data := sock.recv(65536):
          for event in conn.receive_data(data):
              name = type(event).__name__
              if name in ("ResponseReceived", "StreamReset", "DataReceived", "ConnectionTerminated", "PingReceived"):
                  detail = {"StreamReset": lambda: int(event.error_code), "DataReceived": lambda: event.data.decode(),
                      "ConnectionTerminated": lambda: (event.last_stream_id, event.additional_data.decode()),
                      "ResponseReceived": lambda: dict(event.headers)[":status"]}.get(name, lambda: "")()
                  seen.append(f"{name} {detail}".strip())
              if name in ("StreamReset", "StreamEnded") and event.stream_id == stream and stream < 5: push()
          sock.sendall(conn.data_to_send())
      print("; ".join(seen))
      """

    let result = try await BuiltProgram(path: "/usr/bin/python3").run([
      "-c", script, String(simulator.port), simulator.authorityFile,
    ])

    #expect(result.errorOutput == "")
    for event in [
      "ResponseReceived 200", "PingReceived", "StreamReset 7", "ConnectionTerminated (5, 'bye')",
    ] { #expect(result.output.contains(event), "\(event) is not in \(result.output)") }
    #expect(simulator.summary.violations.isEmpty)
  }

  @Test("h2load gets its faults in the share asked for", .timeLimit(.minutes(1)))
  func load() async throws {
    let simulator = try await LocalSimulator(
      #"{"rules":[{"match":{"every":10},"do":{"reason":"Shutdown"}},{"match":{"every":7},"do":{"rst_stream":8}}]}"#,
      checks: false)

    let result = try await BuiltProgram(path: "/usr/bin/h2load").run(
      ["-n", "1000", "-c", "2", "-m", "100", "https://127.0.0.1:\(simulator.port)/3/device/0a0b"])

    #expect(result.output.contains("status codes: 772 2xx, 0 3xx, 0 4xx, 100 5xx"), "\(result.output)")
    #expect(simulator.summary.byReason == ["Shutdown": 100, "reset": 128])
  }
}
