import JSON
import Operations
import Support
import Testing

@testable import APNsSimulator

@Suite("What a script does to answers and streams")
struct ScriptedAnswerTests {
  /// The answer to one push: its status, fields and body as curl got them.
  private func curl(_ action: String) async throws -> CurlAnswer {
    let simulator = try await SimulatorProcess([], script: #"{"rules":[{"do":{\#(action)}}]}"#)
    return try await simulator.push("0a0b", ["apns-id": "123e4567-e89b-12d3-a456-4266554400a0"])
  }

  @Test(
    "status, reason and body", .timeLimit(.minutes(1)),
    arguments: [
      (#""reason":"ExpiredProviderToken""#, 403, #"{"reason":"ExpiredProviderToken"}"#),
      (#""reason":"BadEnvironmentKeyIdInToken""#, 403, #"{"reason":"BadEnvironmentKeyIdInToken"}"#),
      (#""reason":"Service Unavailable""#, 503, #"{"reason":"Service Unavailable"}"#),
      (#""reason":"Teapot","status":418"#, 418, #"{"reason":"Teapot"}"#),
      (#""status":599"#, 599, ""),
      (#""reason":"BadTopic","body":"""#, 400, ""),
      (#""reason":"BadTopic","body":"{\"reason\":\"Bad""#, 400, #"{"reason":"Bad"#),
      (#""status":502,"body":"<html>""#, 502, "<html>"),
      (
        #""reason":"ExpiredToken","timestamp":1700000000000"#, 410,
        #"{"reason":"ExpiredToken","timestamp":1700000000000}"#
      ),
      (#""reason":"Unregistered","timestamp":null"#, 410, #"{"reason":"Unregistered"}"#),
    ])
  func bodies(action: String, status: Int, body: String) async throws {
    let answer = try await curl(action)

    #expect(answer.status == status)
    #expect(answer.body == body)
  }

  @Test("fields, and an apns-id that is another or none", .timeLimit(.minutes(1)))
  func fields() async throws {
    let pause = try await curl(#""reason":"Shutdown","headers":{"retry-after":"7","date":"now"}"#)
    let other = try await curl(#""apns_id":"not a uuid""#)
    let none = try await curl(#""apns_id":null"#)

    #expect(pause.headers["retry-after"] == "7")
    #expect(pause.headers["date"] == "now")
    #expect(other.headers["apns-id"] == "not a uuid")
    #expect(none.status == 200)
    #expect(none.headers["apns-id"] == nil)
  }

  @Test("the time of a 410 is now, or as far away as the script says", .timeLimit(.minutes(1)))
  func timestamps() async throws {
    func time(_ action: String) async throws -> Int64 {
      let body = try await curl(#""reason":"Unregistered"\#(action)"#).body
      return try #require(try JSONValue(parsing: Array(body.utf8))["timestamp"]?.integer)
    }
    let now = SystemClocks().wallTime().value

    let distances = [
      try await time("") - now, try await time(#","timestamp":"-1h""#) - now,
      try await time(#","timestamp":"+1h""#) - now,
    ]

    #expect((0..<60_000).contains(distances[0]))
    #expect((-3_600_000 ..< -3_540_000).contains(distances[1]))
    #expect((3_600_000..<3_660_000).contains(distances[2]))
  }

  @Test("a huge body comes whole", .timeLimit(.minutes(1)))
  func hugeBody() async throws {
    #expect(try await curl(#""status":500,"body_bytes":1000000"#).body.utf8.count == 1_000_000)
  }

  @Test("a stream is reset with every code of the list, also when it is over", .timeLimit(.minutes(1)))
  func resets() async throws {
    let simulator = try await LocalSimulator(try SimulatorFixture.text("scripts/refused-stream.json"))
    let client = try simulator.client()

    try client.send(1)
    let frames = try await client.peer.frames { $0.count { $0.type == 3 } == 2 }
    let again = try await client.push(3)

    #expect(frames.filter { $0.stream == 1 }.map { [Int($0.type), $0.number(at: 0)] } == [[3, 7], [3, 5]])
    #expect(again.map(\.type) == [1])
    #expect(simulator.summary.byReason == ["reset": 1])
  }

  @Test("RST_STREAM may follow a whole answer", .timeLimit(.minutes(1)))
  func resetAfterAnswer() async throws {
    let simulator = try await LocalSimulator(#"{"rules":[{"do":{"rst_stream_after_answer":"NO_ERROR"}}]}"#)
    let client = try simulator.client()

    try client.send(1)
    let frames = try await client.peer.frames { $0.contains { $0.type == 3 } }

    #expect(frames.filter { $0.stream == 1 }.map(\.type) == [1, 3])
  }

  @Test("the body of an answer may be withheld", .timeLimit(.minutes(1)))
  func withheldBody() async throws {
    let simulator = try await LocalSimulator(#"{"rules":[{"do":{"reason":"Shutdown","withhold_body":true}}]}"#)
    let client = try simulator.client()

    try client.send(1)
    let frames = try await client.peer.frames { $0.contains { $0.type == 1 } }
    try await client.settle()

    let answer = try #require(frames.first { $0.type == 1 })
    #expect(answer.flags & 1 == 0)
    #expect(try await client.peer.frames { _ in true }.allSatisfy { $0.type != 0 })
  }

  @Test("an answer may come before the request is complete", .timeLimit(.minutes(1)))
  func earlyAnswer() async throws {
    let simulator = try await LocalSimulator(
      #"{"rules":[{"do":{"reason":"PayloadTooLarge","answer_before_body":true,"rst_stream_after_answer":"NO_ERROR"}}]}"#
    )
    let client = try simulator.client()

    client.peer.send(RawFrames.headers(stream: 1, try RawClient.fields(), endsStream: false))
    let frames = try await client.peer.frames { $0.contains { $0.type == 3 } }

    #expect(frames.filter { $0.stream == 1 }.map(\.type) == [1, 0, 3])
    #expect(try simulator.log().map { $0["reason"]?.string } == ["PayloadTooLarge"])
    #expect(simulator.summary.requests == 1)
  }

  @Test("an answer waits for its delay, and others overtake it", .timeLimit(.minutes(1)))
  func delays() async throws {
    let simulator = try await LocalSimulator(
      #"{"rules":[{"limit":1},{"limit":1,"do":{"delay":"300ms"}}]}"#)
    let client = try simulator.client()

    try await client.push(1)
    client.peer.send(RawFrames.settingsAcknowledged)
    for stream in [3, 5] { try client.send(stream) }
    let frames = try await client.peer.frames { $0.contains { $0.type == 1 && $0.stream == 3 } }

    #expect(frames.filter { $0.type == 1 }.map(\.stream) == [1, 5, 3])
  }

  @Test("an answer waits for a later request of its connection", .timeLimit(.minutes(1)))
  func held() async throws {
    let simulator = try await LocalSimulator(#"{"rules":[{"limit":1},{"limit":1,"do":{"answer_after_request":4}}]}"#)
    let client = try simulator.client()

    try await client.push(1)
    client.peer.send(RawFrames.settingsAcknowledged)
    for stream in [3, 5, 7] { try client.send(stream) }
    let frames = try await client.peer.frames { $0.count { $0.type == 1 } == 4 }

    #expect(frames.filter { $0.type == 1 }.map(\.stream) == [1, 5, 7, 3])
  }

  @Test("the fixtures of single answers do what they say", .timeLimit(.minutes(1)))
  func fixtures() async throws {
    let token = "7c31dc8a36b55c53e6818737da25e82071ede9aa827eff4c5e98b762eab5a0ab"
    let expected = [
      "400-baddevicetoken-all": [400, 400, 400], "403-expired-always": [403, 403, 403],
      "403-expired-once": [403, 200, 200], "410-older": [410, 410, 200], "429-device": [429, 429, 200],
      "500-until-reconnect": [500, 500, 500], "503-retry-after": [503, 503, 503],
    ]
    for (name, statuses) in expected {
      let simulator = try await LocalSimulator(try SimulatorFixture.text("scripts/\(name).json"))
      let client = try simulator.client()
      for (stream, device) in [(1, token), (3, token.uppercased()), (5, "0a")] {
        try await client.push(stream, [":path": "/3/device/\(device)"])
      }
      #expect(try simulator.log().compactMap { $0["status"]?.integer } == statuses.map { Int64($0) }, "\(name)")
    }
  }
}
