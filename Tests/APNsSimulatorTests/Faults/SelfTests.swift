import JSON
import Operations
import Support
import Testing

@testable import APNsSimulator

/// A way in which a sender can be broken, and what the simulator has to notice.
struct BrokenSender: Sendable, CustomTestStringConvertible {
  enum Notice: Sendable, Equatable {
    case reason(String)
    case violation(Violation)
    case warning(String)
  }

  var name: String
  var notice: Notice
  var script = "{}"
  var knobs: [String] = []
  var act: @Sendable (RawClient, LocalSimulator) async throws -> Void

  var testDescription: String { name }

  /// One push with fields in place of its own.
  static func push(
    _ name: String, _ notice: Notice, _ changes: [String: String?] = [:], body: String = #"{"aps":{"alert":"a"}}"#
  ) -> BrokenSender {
    BrokenSender(name: name, notice: notice) { client, _ in try await client.push(1, changes, body: body) }
  }

  /// One push with a provider token of its own making.
  static func token(
    _ name: String, _ reason: String = "InvalidProviderToken", _ make: @escaping @Sendable () throws -> String
  ) -> BrokenSender {
    BrokenSender(name: name, notice: .reason(reason)) { client, _ in
      try await client.push(1, ["authorization": try make()])
    }
  }

  /// The same push after an answer that a script gives.
  static func again(
    _ name: String, _ violation: Violation, after answer: String, times: Int = 1
  ) -> BrokenSender {
    BrokenSender(
      name: name, notice: .violation(violation), script: #"{"rules":[{"limit":\#(times),"do":{\#(answer)}}]}"#
    ) { client, _ in
      let changes = ["apns-id": "123e4567-e89b-12d3-a456-4266554400a0"]
      try await client.push(1, changes)
      try await client.push(3, changes)
    }
  }
}

@Suite("The simulator notices what senders do wrong")
struct SelfTests {
  static let providerTokens: [BrokenSender] = [
    .token("signature in DER") { try BrokenToken.make(signature: { BrokenToken.der(try $0()) }) },
    .token("r without its zero bytes") { try BrokenToken.make(signature: BrokenToken.unpadded) },
    .token("one bit of the signature") {
      try BrokenToken.make(signature: { sign in
        var signature = try sign()
        signature[0] ^= 1
        return signature
      })
    },
    .token("iat as string") { try BrokenToken.make(claims: #"{"iss":"TESTTEAM01","iat":"\#(BrokenToken.now)"}"#) },
    .token("iat with fraction") { try BrokenToken.make(claims: #"{"iss":"TESTTEAM01","iat":\#(BrokenToken.now).5}"#) },
    .token("iat in milliseconds") {
      try BrokenToken.make(claims: #"{"iss":"TESTTEAM01","iat":\#(BrokenToken.now * 1000)}"#)
    },
    .token("iat an hour old", "ExpiredProviderToken") { try BrokenToken.make(age: 3602) },
    .token("iat ahead") { try BrokenToken.make(age: -70) },
    .token("Bearer") { try BrokenToken.make().replacing("bearer", with: "Bearer") },
    .token("no scheme", "MissingProviderToken") { String(try BrokenToken.make().dropFirst(7)) },
    .token("padded base64") { try BrokenToken.make(encode: { $0 + String(repeating: "=", count: -$0.count & 3) }) },
    .token("standard base64") {
      while true {
        let token = try BrokenToken.make()
        if token.contains("_") || token.contains("-") {
          return token.replacing("_", with: "/").replacing("-", with: "+")
        }
      }
    },
    .token("alg none") { try BrokenToken.make(header: #"{"alg":"none","kid":"TESTKEY001"}"#) },
    .token("key and team swapped") {
      try BrokenToken.make(
        header: #"{"alg":"ES256","kid":"TESTTEAM01"}"#, claims: #"{"iss":"TESTKEY001","iat":\#(BrokenToken.now)}"#)
    },
    .push("no provider token", .reason("MissingProviderToken"), ["authorization": nil]),
    BrokenSender(name: "second provider token", notice: .violation(.providerTokenUpdates)) { client, _ in
      try await client.push(1)
      try await client.push(3, ["authorization": try BrokenToken.make(age: 10)])
    },
  ]

  static let requests: [BrokenSender] = [
    .push("no topic", .reason("MissingTopic"), ["apns-topic": nil]),
    .push("wrong suffix", .reason("DeviceTokenNotForTopic"), ["apns-push-type": "voip"]),
    .push("suffix of another type", .reason("InvalidPushType"), ["apns-topic": "com.example.app.voip"]),
    .push("unknown push type", .reason("InvalidPushType"), ["apns-push-type": "Alert"]),
    .push("apns-id without hyphens", .reason("BadMessageId"), ["apns-id": "123e4567e89b12d3a4564266554400a0"]),
    .push("background with priority 10", .reason("BadPriority"), ["apns-push-type": "background"]),
    .push("priority high", .reason("BadPriority"), ["apns-priority": "high"]),
    .push("expiration as date", .reason("BadExpirationDate"), ["apns-expiration": "2030-01-01T00:00:00Z"]),
    .push("expiration in milliseconds", .warning("milliseconds"), ["apns-expiration": "1900000000000"]),
    .push("collapse id of 65", .reason("BadCollapseId"), ["apns-collapse-id": String(repeating: "a", count: 65)]),
    .push("device token in brackets", .reason("BadDeviceToken"), [":path": "/3/device/<0a0b>"]),
    .push("no device token", .reason("MissingDeviceToken"), [":path": "/3/device/"]),
    .push("another path", .reason("BadPath"), [":path": "/3/devices/0a"]),
    .push("GET", .reason("MethodNotAllowed"), [":method": "GET"]),
    .push("payload of 4097", .reason("PayloadTooLarge"), body: String(repeating: "a", count: 4097)),
    .push("no payload", .reason("PayloadEmpty"), body: ""),
    .push("payload that is no JSON", .warning("not JSON"), body: "{'aps':{}}"),
    .push("custom keys within aps", .warning("custom keys inside aps"), body: #"{"aps":{"alert":"a","x":1}}"#),
    .push(
      "background with alert", .warning("must not have aps.alert"),
      ["apns-push-type": "background", "apns-priority": "5"]),
    BrokenSender(name: "field twice", notice: .reason("DuplicateHeaders")) { client, _ in
      client.send(1, try RawClient.fields() + [("apns-priority", "10")])
      _ = try await client.peer.frames { $0.contains { $0.stream == 1 && $0.endsStream } }
    },
  ]

  static let http2: [BrokenSender] = [
    .push("name in upper case", .violation(.http2Protocol), ["apns-topic": nil, "Apns-Topic": "com.example.app"]),
    .push("no authority", .violation(.http2Protocol), [":authority": nil]),
    .push("no scheme", .violation(.http2Protocol), [":scheme": nil]),
    .push("a field of HTTP/1.1", .violation(.http2Protocol), ["connection": "keep-alive"]),
    .push("fields of 9 KB", .violation(.headerListSize), ["x-large": String(repeating: "a", count: 9000)]),
    BrokenSender(name: "pseudo field behind others", notice: .violation(.http2Protocol)) { client, _ in
      client.send(1, try RawClient.fields([":path": nil]) + [(":path", "/3/device/0a")])
      _ = try await client.peer.frames { $0.contains { $0.stream == 1 && $0.endsStream } }
    },
    BrokenSender(name: "stream limit ignored", notice: .violation(.concurrentStreams)) { client, _ in
      let fields = try RawClient.fields()
      for stream in [1, 3] { client.peer.send(RawFrames.headers(stream: stream, fields, endsStream: false)) }
    },
    BrokenSender(name: "lower stream limit ignored", notice: .violation(.concurrentStreams), script: lowered) {
      client, _ in
      try await client.push(1)
      client.peer.send(RawFrames.settingsAcknowledged)
      for stream in [3, 5] { try client.send(stream) }
    },
    BrokenSender(name: "lower limit of fields ignored", notice: .violation(.headerListSize), script: small) {
      client, _ in
      try await client.push(1)
      client.peer.send(RawFrames.settingsAcknowledged)
      try await client.push(3)
    },
    BrokenSender(name: "streams before the settings", notice: .violation(.streamsBeforeSettings)) { _, simulator in
      let hasty = RawClient(
        try RawPeer(port: simulator.port, authorityFile: simulator.authorityFile), acknowledges: false)
      for stream in [1, 3] { try hasty.send(stream) }
      _ = try await hasty.peer.frames { $0.contains { $0.type == 3 } }
    },
    BrokenSender(name: "request after GOAWAY", notice: .violation(.afterGoAway), script: leaving) { client, _ in
      try await client.push(1)
      try await client.settle()
      try client.send(3)
    },
    BrokenSender(name: "request after the notice of a GOAWAY", notice: .violation(.afterGoAway), script: notice) {
      client, _ in
      try await client.push(1)
      try await client.settle()
      try await client.push(3)
    },
    BrokenSender(name: "HTTP/2 without ALPN", notice: .violation(.handshake)) { _, simulator in
      _ = try await OpenSSLClient(port: simulator.port, authorityFile: simulator.authorityFile).connect([])
    },
    BrokenSender(name: "a connection for each push", notice: .violation(.connectStorm)) { _, simulator in
      let script = """
        import ssl, socket, sys
        context = ssl.create_default_context(cafile=sys.argv[2])
        context.set_alpn_protocols(["h2"])
        for _ in range(25):
            with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as raw:
                with context.wrap_socket(raw, server_hostname="localhost"): pass
        """
      let result = try await BuiltProgram(path: "/usr/bin/python3").run([
        "-c", script, String(simulator.port), simulator.authorityFile,
      ])
      #expect(result.status == 0, "\(result.errorOutput)")
    },
  ]

  static let lowered = """
    {"rules":[{"at":"connection","do":{"settings":{"max_concurrent_streams":1000}}},
      {"limit":1,"do":{"settings":{"max_concurrent_streams":1}}},{"do":{"never_answer":true}}]}
    """
  static let small = #"{"rules":[{"limit":1,"do":{"settings":{"max_header_list_size":100}}}]}"#
  static let leaving = #"{"rules":[{"limit":1,"do":{"goaway":{"then":"stay"}}}]}"#
  static let notice = #"{"rules":[{"limit":1,"do":{"goaway":{"last_stream":"max","then":"stay"}}}]}"#

  static let retries: [BrokenSender] = [
    .again("again after 400", .finalRetry, after: #""reason":"BadDeviceToken""#),
    .again("again after 403 for the key", .finalRetry, after: #""reason":"InvalidProviderToken""#, times: 2),
    .again("again after 410", .finalRetry, after: #""reason":"Unregistered""#),
    .again("again after 413", .finalRetry, after: #""reason":"PayloadTooLarge""#),
    .again("again before retry-after", .earlyRetry, after: #""reason":"Shutdown","headers":{"retry-after":"60"}"#),
    .again("again after 200", .duplicate, after: #""status":200"#),
    BrokenSender(
      name: "again with another apns-id", notice: .violation(.finalRetry),
      script: #"{"rules":[{"limit":1,"do":{"reason":"Unregistered"}}]}"#
    ) { client, _ in
      for (stream, digit) in [(1, "1"), (3, "2")] {
        let changes = ["apns-id": "123e4567-e89b-12d3-a456-42665544000\(digit)", "apns-collapse-id": "login-1"]
        try await client.push(stream, changes)
      }
    },
  ]

  @Test(
    "broken senders", .timeLimit(.minutes(2)),
    arguments: [providerTokens, credentials, requests, http2, retries].flatMap(\.self))
  func noticed(sender: BrokenSender) async throws {
    var knobs = Knobs()
    for knob in sender.knobs { try knobs.set(knob) }
    let simulator = try await LocalSimulator(sender.script) { $0.rules.knobs = knobs }
    let client = try simulator.client()

    try await sender.act(client, simulator)

    try await eventually("it is noticed; there is \(simulator.summary.json)") {
      switch sender.notice {
      case .reason(let reason): return simulator.summary.byReason[reason] == 1
      case .violation(let violation): return simulator.summary.violations[violation, default: 0] > 0
      case .warning(let text):
        return try simulator.log().contains {
          $0["warnings"]?.array?.contains { $0.string?.contains(text) == true } == true
        }
      }
    }
    // Nothing else is held against it.
    if case .violation(let violation) = sender.notice {
      #expect(Set(simulator.summary.violations.keys) == [violation])
    } else {
      #expect(simulator.summary.violations.isEmpty)
    }
    client.peer.close()
  }

  @Test("a sound sender is accepted without a word", .timeLimit(.minutes(1)))
  func sound() async throws {
    let simulator = try await LocalSimulator()
    let client = try simulator.client()

    try await client.push(1, ["apns-id": "123e4567-e89b-12d3-a456-426655440001", "apns-collapse-id": "a"])
    client.peer.send(RawFrames.settingsAcknowledged)
    try await client.settle()
    for stream in [3, 5, 7] { try client.send(stream, ["apns-collapse-id": "a"]) }
    try await eventually("all are accepted") { simulator.summary.accepted == 4 }

    #expect(simulator.summary.violations.isEmpty)
    #expect(try simulator.log().allSatisfy { $0["warnings"]?.array?.isEmpty == true })
  }

  @Test("a stream that was under way when the limit fell is refused and nobody's fault", .timeLimit(.minutes(1)))
  func raceOfSettings() async throws {
    let simulator = try await LocalSimulator(Self.lowered)
    let client = try simulator.client()

    // The acknowledgment of the lower limit never comes, as if it were still under way.
    try await client.push(1)
    for stream in [3, 5] { try client.send(stream) }
    _ = try await client.peer.frames { $0.contains { $0.type == 3 && $0.stream == 5 && $0.number(at: 0) == 7 } }

    #expect(simulator.summary.violations.isEmpty)
  }

  @Test(
    "what a GOAWAY leaves out may come again: read together with its cause, or its answer still due",
    .timeLimit(.minutes(1)), arguments: [("0s", 3), ("60s", 2)])
  func leftOut(delay: String, firstLeftOut: Int) async throws {
    let simulator = try await LocalSimulator(
      """
      {"rules":[{"match":{"request":2},"do":{"delay":"\(delay)"}},
        {"match":{"request":3},"do":{"goaway":{"last_stream":1,"then":"stay"}}}]}
      """)
    let ids = (1...5).map { "123e4567-e89b-12d3-a456-42665544000\($0)" }
    let first = try simulator.client()

    try await first.push(1, ["apns-id": ids[0]])
    first.peer.send(RawFrames.settingsAcknowledged)
    try await first.settle()
    // One write, so that the server reads them together.
    first.peer.send(
      try (2...5).flatMap { number in
        let stream = 2 * number - 1
        return try RawFrames.headers(
          stream: stream, RawClient.fields(["apns-id": ids[number - 1]]), endsStream: false)
          + RawFrames.data(stream: stream, #"{"aps":{"alert":"a"}}"#)
      })
    _ = try await first.peer.frames { $0.contains { $0.type == 7 } }
    let second = try simulator.client()
    for number in firstLeftOut...5 { try await second.push(2 * number - 1, ["apns-id": ids[number - 1]]) }

    #expect(simulator.summary.accepted == 5)
    #expect(simulator.summary.violations.isEmpty)
  }

  @Test("requests that were under way when GOAWAY came are ignored and nobody's fault", .timeLimit(.minutes(1)))
  func raceOfGoAway() async throws {
    let simulator = try await LocalSimulator(Self.leaving)
    let client = try simulator.client()

    // The PING behind the GOAWAY is not acknowledged.
    try await client.push(1)
    try client.send(3)
    try await eventually("the server has read it") { try await client.peer.pingIsAnswered() }

    #expect(simulator.summary.violations.isEmpty)
    #expect(simulator.summary.requests == 1)
  }
}
