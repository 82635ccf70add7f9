import Foundation
import JSON
import Operations
import Support
import Testing

@Suite("Answers to curl")
struct AnswerTests {
  @Test("an accepted push gets 200, its own apns-id, and no body", .timeLimit(.minutes(1)))
  func accepted() async throws {
    let simulator = try await SimulatorProcess()

    let answer = try await simulator.push("0a0b", ["apns-id": "123e4567-e89b-12d3-a456-4266554400a0"])

    #expect(answer.status == 200)
    #expect(answer.body == "")
    #expect(answer.headers == ["apns-id": "123e4567-e89b-12d3-a456-4266554400a0"])
  }

  @Test("a push without apns-id gets one in upper case", .timeLimit(.minutes(1)))
  func madeID() async throws {
    let simulator = try await SimulatorProcess()

    let answer = try await simulator.push("0a0b")

    let id = try #require(answer.headers["apns-id"])
    #expect(id.wholeMatch(of: /[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}/) != nil)
  }

  @Test("only the sandbox answers with apns-unique-id", .timeLimit(.minutes(1)))
  func sandbox() async throws {
    let simulator = try await SimulatorProcess(listeners: ["production=127.0.0.1:0", "sandbox=[::1]:0"])

    let production = try await simulator.push("0a0b")
    let sandbox = try await simulator.push("0a0b", port: simulator.ports[1], host: "[::1]")

    #expect(production.headers["apns-unique-id"] == nil)
    #expect(sandbox.headers["apns-unique-id"] != nil)
    #expect(try simulator.log().map { $0["environment"]?.string } == ["production", "development"])
  }

  @Test("a refused push gets its reason as JSON", .timeLimit(.minutes(1)))
  func refused() async throws {
    let simulator = try await SimulatorProcess(["--topic", "com.example.app"])

    let topic = try await simulator.push("0a0b", ["apns-topic": "com.example.other"])
    let noToken = try await simulator.push("0a0b", ["authorization": ""])
    let duplicate = try await simulator.push(
      "0a0b", options: ["--header", "apns-priority: 5", "--header", "apns-priority: 5"])
    let method = try await simulator.push("0a0b", options: ["--request", "PUT"])

    let statuses = [topic.status, noToken.status, duplicate.status, method.status]
    #expect(statuses == [400, 403, 400, 405])
    #expect(topic.body == #"{"reason":"TopicDisallowed"}"#)
    #expect(topic.headers["content-type"] == "application/json")
    #expect(noToken.body == #"{"reason":"MissingProviderToken"}"#)
    #expect(duplicate.body == #"{"reason":"DuplicateHeaders"}"#)
    #expect(method.body == #"{"reason":"MethodNotAllowed"}"#)
  }

  @Test("listed devices get their fate, with the time of a 410", .timeLimit(.minutes(1)))
  func devices() async throws {
    let simulator = try await SimulatorProcess([
      "--strict-devices", "--device", "0A01=unregistered@1700000000123", "--device=0a02=unregistered", "--device",
      "0a03=bad", "--device", "0a04=other-topic", "--device", "0a05=ok",
    ])
    let start = SystemClocks().wallTime().value

    let dated = try await simulator.push("0a01")
    let undated = try await simulator.push("0a02")
    let others = [
      try await simulator.push("0a03").body, try await simulator.push("0a04").body,
      try await simulator.push("0a05").body, try await simulator.push("0a06").body,
    ]

    #expect(dated.status == 410)
    #expect(dated.body == #"{"reason":"Unregistered","timestamp":1700000000123}"#)
    let timestamp = try #require(try JSONValue(parsing: Array(undated.body.utf8))["timestamp"]?.integer)
    #expect(timestamp >= start && timestamp <= SystemClocks().wallTime().value)
    #expect(
      others == [
        #"{"reason":"BadDeviceToken"}"#, #"{"reason":"DeviceTokenNotForTopic"}"#, "", #"{"reason":"BadDeviceToken"}"#,
      ])
  }

  @Test("a body of many frames is judged by its whole size", .timeLimit(.minutes(1)))
  func largeBody() async throws {
    let simulator = try await SimulatorProcess()

    let answer = try await simulator.push("0a0b", body: String(repeating: "a", count: 200_000))

    #expect(answer.body == #"{"reason":"PayloadTooLarge"}"#)
    let entry = try #require(try simulator.log().first)
    #expect(entry["body_bytes"]?.integer == 200_000)
    #expect(entry["body"]?.isNull == true)
  }

  @Test("HEAD is refused without a body", .timeLimit(.minutes(1)))
  func head() async throws {
    let simulator = try await SimulatorProcess()

    let result = try await BuiltProgram(path: "/usr/bin/curl").run([
      "--silent", "--show-error", "--head", "--http2", "--cacert", simulator.authorityFile,
      "https://127.0.0.1:\(simulator.ports[0])/3/device/0a0b",
    ])

    #expect(result.status == 0, "\(result.errorOutput)")
    #expect(result.output.hasPrefix("HTTP/2 405"))
  }

  @Test("fields beyond 8000 bytes get 431 and count as a violation", .timeLimit(.minutes(1)))
  func headerList() async throws {
    let simulator = try await SimulatorProcess()

    let answer = try await simulator.push("0a0b", ["x-large": String(repeating: "a", count: 8000)])

    #expect(answer.status == 431)
    #expect(try await simulator.summary()["violations"]?["header_list_size"]?.integer == 1)
  }

  @Test("with --delay an answer takes that long", .timeLimit(.minutes(1)))
  func delay() async throws {
    let simulator = try await SimulatorProcess(["--delay", "300ms"])
    let start = SystemClocks().monotonicTime()

    let answer = try await simulator.push("0a0b")

    #expect(answer.status == 200)
    #expect(SystemClocks().monotonicTime().since(start) >= .milliseconds(300))
  }

  @Test("the log has one object per request with everything that came and went", .timeLimit(.minutes(1)))
  func log() async throws {
    let simulator = try await SimulatorProcess()

    _ = try await simulator.push(
      "0a0b", ["apns-id": "123e4567-e89b-12d3-a456-4266554400a0", "apns-priority": "11"],
      body: "{ \"aps\" : {\n\"alert\" : \"a b\", \"badge\": 1.0 } }",
      options: ["--header", "x-twice: 1", "--header", "x-twice: 2"])

    let lines = try String(contentsOfFile: simulator.folder.path(of: "log"), encoding: .utf8)
    #expect(lines.contains(#""body":{"aps":{"alert":"a b","badge":1.0}}"#))
    let entry = try #require(try simulator.log().first)
    #expect(entry["path"]?.string == "/3/device/0a0b")
    #expect(entry["device_token"]?.string == "0a0b")
    #expect(entry["environment"]?.string == "production")
    #expect(entry["headers"]?["apns-topic"]?.string == "com.example.app")
    #expect(entry["headers"]?["x-twice"]?.array?.map(\.string) == ["1", "2"])
    #expect(entry["status"]?.integer == 400)
    #expect(entry["reason"]?.string == "BadPriority")
    #expect(entry["apns_id"]?.string == "123e4567-e89b-12d3-a456-4266554400a0")
    #expect(entry["connection"]?.integer == 1)
    #expect(entry["stream"]?.integer == 1)
    #expect(entry["received_at"]?.string?.hasSuffix("Z") == true)
    let body = try #require(entry["body_base64"]?.string.flatMap { Data(base64Encoded: $0) })
    #expect(String(decoding: body, as: UTF8.self) == "{ \"aps\" : {\n\"alert\" : \"a b\", \"badge\": 1.0 } }")
    #expect(entry["body_bytes"]?.integer == Int64(body.count))
  }

  @Test("with --no-checks everything is accepted, and logged when a log is asked for", .timeLimit(.minutes(1)))
  func uncheckedLog() async throws {
    let simulator = try await SimulatorProcess(checks: false)

    let first = try await simulator.push("zz", ["authorization": "", "apns-priority": "11"])
    let second = try await simulator.push("0b")

    #expect(first.status == 200)
    #expect(try simulator.log().map { $0["device_token"]?.string } == ["zz", "0b"])
    #expect(second.headers["apns-id"] != first.headers["apns-id"])
  }
}
