import JSON
import Support
import Testing

@testable import APNsSimulator

@Suite("Broadcasts and channels by curl", .timeLimit(.minutes(1)))
struct ChannelTests {
  static let listeners = [
    "production=127.0.0.1:0", "sandbox=127.0.0.1:0", "manage-production=127.0.0.1:0", "manage-sandbox=127.0.0.1:0",
  ]
  static let app = "com.example.app"
  static let channels = "/1/apps/\(app)/channels"
  static let list = "/1/apps/\(app)/all-channels"
  static let recent = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
  static let requestID = ["apns-request-id": "123e4567-e89b-12d3-a456-4266554400a0"]

  static func simulator(_ options: [String] = [], script: String? = nil) async throws -> SimulatorProcess {
    try await SimulatorProcess(options, listeners: listeners, script: script)
  }

  /// A broadcast, changed by fields.
  static func broadcast(
    _ simulator: SimulatorProcess, to channel: String, _ headers: [String: String] = [:], listener: Int = 0
  ) async throws -> CurlAnswer {
    let usual = [
      "apns-channel-id": channel, "apns-push-type": "liveactivity", "apns-expiration": "0", "apns-priority": "10",
    ]
    return try await simulator.send(
      "POST", "/4/broadcasts/apps/\(app)", usual.merging(headers) { $1 },
      body: #"{"aps":{"timestamp":1767225600,"event":"update","content-state":{}}}"#, listener: listener)
  }

  /// A new channel's id.
  static func create(_ simulator: SimulatorProcess, listener: Int = 2) async throws -> String {
    let answer = try await simulator.send("POST", channels, body: recent, listener: listener)
    return try #require(answer.headers["apns-channel-id"])
  }

  @Test("a channel lives from its creation to its deletion, in each environment", arguments: [0, 1])
  func life(environment: Int) async throws {
    let simulator = try await Self.simulator()
    let manage = environment + 2
    let otherEnvironment = 1 - environment

    let created = try await simulator.send("POST", Self.channels, Self.requestID, body: Self.recent, listener: manage)
    let id = try #require(created.headers["apns-channel-id"])
    let channel = ["apns-channel-id": id]
    let sent = try await Self.broadcast(simulator, to: id, Self.requestID, listener: environment)
    let elsewhere = try await Self.broadcast(simulator, to: id, listener: otherEnvironment)
    let read = try await simulator.send("GET", Self.channels, channel, listener: manage)
    let listed = try await simulator.send("GET", Self.list, listener: manage)
    let otherList = try await simulator.send("GET", Self.list, listener: otherEnvironment + 2)
    let deleted = try await simulator.send("DELETE", Self.channels, channel, listener: manage)
    let late = try await Self.broadcast(simulator, to: id, listener: environment)

    #expect(created.status == 201 && created.body == "")
    #expect(created.headers == Self.requestID.merging(channel) { $1 })
    #expect(sent.status == 200 && sent.body == "")
    #expect(sent.headers["apns-request-id"] == Self.requestID["apns-request-id"])
    #expect(Set(sent.headers.keys) == ["apns-request-id", "apns-unique-id"])
    #expect(elsewhere.status == 400 && elsewhere.body == #"{"reason":"ChannelNotRegistered"}"#)
    #expect(Set(elsewhere.headers.keys) == ["apns-request-id", "apns-unique-id", "content-type"])
    #expect(read.status == 200 && read.body == Self.recent)
    #expect(read.headers["content-type"] == "application/json")
    #expect(read.headers["apns-request-id"]?.wholeMatch(of: /[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/) != nil)
    #expect(listed.status == 200)
    #expect(try JSONValue(parsing: Array(listed.body.utf8))["channels"]?.array?.map(\.string) == [id])
    #expect(otherList.body == #"{"channels":[]}"#)
    #expect(deleted.status == 204 && deleted.body == "" && Set(deleted.headers.keys) == ["apns-request-id"])
    #expect(late.body == #"{"reason":"ChannelNotRegistered"}"#)
  }

  @Test("each port knows the paths of its own APIs alone")
  func ports() async throws {
    let simulator = try await Self.simulator()

    let answers = [
      try await simulator.send("POST", Self.channels, body: Self.recent),
      try await simulator.send("POST", "/3/device/0a0b", body: "{}", listener: 2),
      try await Self.broadcast(simulator, to: ChannelFixture.recent, listener: 3),
    ]

    #expect(answers.map(\.status) == [404, 404, 404])
    #expect(answers.map(\.body) == Array(repeating: #"{"reason":"BadPath"}"#, count: 3))
    #expect(answers.map { $0.headers["apns-request-id"] == nil } == [true, false, false])
  }

  @Test("the log says all about a broadcast, whose line has neither device token nor apns-id")
  func log() async throws {
    let simulator = try await Self.simulator()
    let id = try await Self.create(simulator, listener: 3)

    _ = try await Self.broadcast(simulator, to: id, ["apns-priority": "3"], listener: 1)

    let entries = try simulator.log()
    #expect(entries.map { $0["path"]?.string } == [Self.channels, "/4/broadcasts/apps/\(Self.app)"])
    #expect(entries.map { $0["method"]?.string } == ["POST", "POST"])
    #expect(entries.map { $0["status"]?.integer } == [201, 400])
    #expect(entries.map { $0["environment"]?.string } == ["development", "development"])
    #expect(entries.allSatisfy { $0["device_token"]?.isNull == true && $0["apns_id"]?.isNull == true })
    #expect(entries[1]["reason"]?.string == "BadPriority")
    #expect(entries[1]["headers"]?["apns-channel-id"]?.string == id)
    #expect(entries[1]["body"]?["aps"]?["event"]?.string == "update")
  }

  @Test("what is done counts as accepted, and a request id that comes again is no duplicate")
  func summary() async throws {
    let simulator = try await Self.simulator()
    let id = try await Self.create(simulator)

    for _ in 1...2 { _ = try await Self.broadcast(simulator, to: id, Self.requestID) }
    for _ in 1...2 { _ = try await Self.broadcast(simulator, to: id, ["apns-priority": "3"]) }
    _ = try await simulator.send("DELETE", Self.channels, ["apns-channel-id": id], listener: 2)

    let summary = try await simulator.summary()
    #expect(summary["requests"]?.integer == 6)
    #expect(summary["accepted"]?.integer == 4)
    #expect(summary["by_reason"]?["BadPriority"]?.integer == 2)
    #expect(summary["distinct_devices"]?.integer == 0)
    #expect(summary["duplicates"]?.integer == 0)
    #expect(summary["violations"]?.object?.isEmpty == true)
  }

  @Test("a script spoils broadcasts and calls of an app, and switches its capability off and on")
  func script() async throws {
    let simulator = try await Self.simulator(
      script: """
        { "rules": [
          { "match": { "topic": "com.example.app", "request": 2 }, "do": { "reason": "Service Unavailable", "apns_id": null } },
          { "match": { "request": 3 }, "do": { "broadcast_capability": { "topic": "com.example.app", "on": false } } },
          { "match": { "request": 5 }, "do": { "broadcast_capability": { "topic": "com.example.app", "on": true } } },
          { "match": { "topic": "com.example.other" }, "do": { "reason": "Forbidden" } },
        ] }
        """)
    let id = try await Self.create(simulator)

    let spoiled = try await simulator.send("GET", Self.list, listener: 2)
    let off = try await Self.broadcast(simulator, to: id)
    let stillOff = try await simulator.send("GET", Self.list, listener: 2)
    let on = try await simulator.send("GET", Self.list, listener: 2)

    #expect(spoiled.status == 503 && spoiled.body == #"{"reason":"Service Unavailable"}"#)
    #expect(spoiled.headers["apns-request-id"] == nil)
    #expect(off.status == 400 && off.body == #"{"reason":"FeatureNotEnabled"}"#)
    #expect(stillOff.body == #"{"reason":"FeatureNotEnabled"}"#)
    #expect(on.status == 200 && on.body == #"{"channels":[]}"#)
  }

  @Test("a scripted 200 is an accepted creation with its channel, and a scripted 500 does not name the one it made")
  func scriptedStatus() async throws {
    let simulator = try await Self.simulator(
      script: #"{"rules":[{"match":{"request":1},"do":{"status":200}},{"match":{"request":2},"do":{"status":500}}]}"#)

    let ok = try await simulator.send("POST", Self.channels, body: Self.recent, listener: 2)
    let failed = try await simulator.send("POST", Self.channels, body: Self.recent, listener: 2)
    let list = try await simulator.send("GET", Self.list, listener: 2)

    #expect(ok.status == 200 && ok.headers["apns-channel-id"] != nil)
    #expect(failed.status == 500 && failed.headers["apns-channel-id"] == nil)
    #expect(try JSONValue(parsing: Array(list.body.utf8))["channels"]?.array?.count == 2)
    let summary = try await simulator.summary()
    #expect(summary["accepted"]?.integer == 2 && summary["by_reason"]?["status 500"]?.integer == 1)
  }

  @Test("a call that is done makes a connection trusted with a thousand streams, as a push does")
  func streamLimit() async throws {
    let simulator = try await LocalSimulator { $0.listeners = [.init(managesChannels: true)] }
    let client = try simulator.client()
    let list: [String: String?] = [
      ":method": "GET", ":path": Self.list, "apns-topic": nil, "apns-push-type": nil, "apns-priority": nil,
    ]

    try await client.push(1, list.merging(["authorization": nil]) { $1 }, body: "")
    try await client.push(3, list, body: "")
    let frames = try await client.peer.frames { $0.contains { $0.stream == 3 && $0.endsStream } }

    let limits = frames.filter { $0.type == 4 && $0.flags == 0 }.map { RawFrames.settings(in: $0.payload)[3] }
    #expect(limits == [1, 1000])
    let order = frames.filter { ($0.type == 4 && $0.flags == 0) || $0.type == 1 }.map { [Int($0.type), $0.stream] }
    #expect(order == [[4, 0], [1, 1], [4, 0], [1, 3]])
  }

  @Test("a creation whose answer a GOAWAY leaves out is not counted as accepted")
  func leftOut() async throws {
    let simulator = try await LocalSimulator(#"{"rules":[{"do":{"goaway":{"last_stream":0,"then":"close"}}}]}"#) {
      $0.listeners = [.init(managesChannels: true)]
    }
    let client = try simulator.client()

    try client.send(1, [":path": Self.channels, "apns-topic": nil], body: Self.recent)
    _ = try await client.peer.framesToEnd()

    #expect(simulator.summary.accepted == 0)
    #expect(simulator.summary.byReason == ["left out": 1])
  }

  @Test("without checks a broadcast is answered 200 with its request id and logged")
  func unchecked() async throws {
    let simulator = try await SimulatorProcess(listeners: Self.listeners, checks: false)

    let broadcast = try await Self.broadcast(simulator, to: "?", Self.requestID)

    #expect(broadcast.status == 200)
    #expect(broadcast.headers["apns-request-id"] == Self.requestID["apns-request-id"])
    #expect(broadcast.headers["apns-id"] == nil)
    #expect(try simulator.log().map { $0["device_token"]?.isNull } == [true])
  }
}
