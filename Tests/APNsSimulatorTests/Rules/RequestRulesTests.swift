import Operations
import Testing

@testable import APNsSimulator

/// One request with a single defect, and the answer that it gets.
struct RequestCase: Sendable, CustomTestStringConvertible {
  var name: String
  var request: PushRequest
  var answer: String

  init(_ name: String, _ request: PushRequest, _ answer: String) {
    self.name = name
    self.request = request
    self.answer = answer
  }

  var testDescription: String { name }
}

@Suite("Rules of the device request")
struct RequestRulesTests {
  static let methodAndPath = [
    RequestCase("sound", .sample(), "200"),
    RequestCase("GET", .sample(method: "GET"), "MethodNotAllowed"),
    RequestCase("PUT", .sample(method: "PUT"), "MethodNotAllowed"),
    RequestCase("root", .sample(path: "/"), "BadPath"),
    RequestCase("version 2", .sample(path: "/2/device/0a"), "BadPath"),
    RequestCase("two segments", .sample(path: "/3/device/0a/0a"), "BadPath"),
    RequestCase("query", .sample(path: "/3/device/0a?b"), "BadPath"),
    RequestCase("devices", .sample(path: "/3/devices/0a"), "BadPath"),
    RequestCase("no device token", .sample(path: "/3/device/"), "MissingDeviceToken"),
    RequestCase("no slash", .sample(path: "/3/device"), "MissingDeviceToken"),
  ]

  static let deviceTokens = [
    RequestCase("64 digits", .sample(path: "/3/device/" + String(repeating: "ab", count: 32)), "200"),
    RequestCase("64 digits in upper case", .sample(path: "/3/device/" + String(repeating: "AB", count: 32)), "200"),
    RequestCase("160 digits", .sample(path: "/3/device/" + String(repeating: "0", count: 160)), "200"),
    RequestCase("200 digits", .sample(path: "/3/device/" + String(repeating: "0", count: 200)), "200"),
    RequestCase("63 digits", .sample(path: "/3/device/" + String(repeating: "a", count: 63)), "BadDeviceToken"),
    RequestCase("no digits", .sample(path: "/3/device/zz"), "BadDeviceToken"),
    RequestCase("space", .sample(path: "/3/device/0a%200a"), "BadDeviceToken"),
    RequestCase("description", .sample(path: "/3/device/{length=32,bytes=0x0a}"), "BadDeviceToken"),
  ]

  static let headers = [
    RequestCase("no apns-id", .sample(["apns-id": nil]), "200"),
    RequestCase("upper-case apns-id", .sample(["apns-id": "123E4567-E89B-12D3-A456-4266554400A0"]), "200"),
    RequestCase("apns-id without hyphens", .sample(["apns-id": "123e4567e89b12d3a4564266554400a0"]), "BadMessageId"),
    RequestCase("apns-id of 35", .sample(["apns-id": "123e4567-e89b-12d3-a456-4266554400a"]), "BadMessageId"),
    RequestCase("apns-id 1-1-1-1-1", .sample(["apns-id": "1-1-1-1-1"]), "BadMessageId"),
    RequestCase("apns-id in braces", .sample(["apns-id": "{123e4567-e89b-12d3-a456-42665544a0}"]), "BadMessageId"),
    RequestCase("empty apns-id", .sample(["apns-id": ""]), "BadMessageId"),
    RequestCase("hyphens misplaced", .sample(["apns-id": "123e456-7e89b-12d3-a456-4266554400a0"]), "BadMessageId"),
    RequestCase("expiration 0", .sample(["apns-expiration": "0"]), "200"),
    RequestCase("no expiration", .sample(["apns-expiration": nil]), "200"),
    RequestCase("largest expiration", .sample(["apns-expiration": "9223372036854775807"]), "200"),
    RequestCase("expiration over 64 bits", .sample(["apns-expiration": "9223372036854775808"]), "BadExpirationDate"),
    RequestCase("negative expiration", .sample(["apns-expiration": "-1"]), "BadExpirationDate"),
    RequestCase("expiration with plus", .sample(["apns-expiration": "+1"]), "BadExpirationDate"),
    RequestCase("float expiration", .sample(["apns-expiration": "1767225600.5"]), "BadExpirationDate"),
    RequestCase("empty expiration", .sample(["apns-expiration": ""]), "BadExpirationDate"),
    RequestCase("date as expiration", .sample(["apns-expiration": "2026-01-01T00:00:00Z"]), "BadExpirationDate"),
    RequestCase("Arabic digits", .sample(["apns-expiration": "١٢٣"]), "BadExpirationDate"),
    RequestCase("priority 5", .sample(["apns-priority": "5"]), "200"),
    RequestCase("priority 1", .sample(["apns-priority": "1"]), "200"),
    RequestCase("no priority", .sample(["apns-priority": nil]), "200"),
    RequestCase("priority 0", .sample(["apns-priority": "0"]), "BadPriority"),
    RequestCase("priority 010", .sample(["apns-priority": "010"]), "BadPriority"),
    RequestCase("priority high", .sample(["apns-priority": "high"]), "BadPriority"),
    RequestCase("empty priority", .sample(["apns-priority": ""]), "BadPriority"),
    RequestCase("no collapse id", .sample(["apns-collapse-id": nil]), "200"),
    RequestCase("collapse id 64", .sample(["apns-collapse-id": String(repeating: "a", count: 64)]), "200"),
    RequestCase("collapse id 65", .sample(["apns-collapse-id": String(repeating: "a", count: 65)]), "BadCollapseId"),
    RequestCase("collapse id 32 é", .sample(["apns-collapse-id": String(repeating: "é", count: 32)]), "200"),
    RequestCase("collapse id 33 é", .sample(["apns-collapse-id": String(repeating: "é", count: 33)]), "BadCollapseId"),
  ]

  static let topicsAndTypes = [
    RequestCase("no topic", .sample(["apns-topic": nil]), "MissingTopic"),
    RequestCase("empty topic", .sample(["apns-topic": ""]), "BadTopic"),
    RequestCase("topic with space", .sample(["apns-topic": "com.example app"]), "BadTopic"),
    RequestCase("topic with two dots", .sample(["apns-topic": "com..example"]), "BadTopic"),
    RequestCase("no push type", .sample(["apns-push-type": nil]), "200"),
    RequestCase("unknown push type", .sample(["apns-push-type": "silent"]), "InvalidPushType"),
    RequestCase("push type in upper case", .sample(["apns-push-type": "Alert"]), "InvalidPushType"),
    RequestCase("empty push type", .sample(["apns-push-type": ""]), "InvalidPushType"),
    RequestCase("alert to voip", .sample(["apns-topic": "com.example.app.voip"]), "InvalidPushType"),
    RequestCase(
      "background to voip",
      .sample(["apns-topic": "com.example.app.voip", "apns-push-type": "background", "apns-priority": "5"]),
      "InvalidPushType"),
    RequestCase("voip to bundle id", .sample(["apns-push-type": "voip"]), "DeviceTokenNotForTopic"),
    RequestCase("location to bundle id", .sample(["apns-push-type": "location"]), "InvalidPushType"),
    RequestCase(
      "misspelt Live Activity topic",
      .sample(["apns-topic": "com.example.app.push-type.live-activity", "apns-push-type": "liveactivity"]),
      "TopicDisallowed"),
    RequestCase(
      "widgets to controls",
      .sample(["apns-topic": "com.example.app.push-type.controls", "apns-push-type": "widgets"]), "InvalidPushType"),
    RequestCase("background 10", .sample(["apns-push-type": "background"]), "BadPriority"),
    RequestCase("background 1", .sample(["apns-push-type": "background", "apns-priority": "1"]), "200"),
    RequestCase("background 5", .sample(["apns-push-type": "background", "apns-priority": "5"]), "200"),
    RequestCase(
      "background without priority", .sample(["apns-push-type": "background", "apns-priority": nil]),
      "BadPriority"),
  ]

  static let voip: [String: String?] = ["apns-push-type": "voip", "apns-topic": "com.example.app.voip"]

  static let sizes = [
    RequestCase("4096", .alert(String(repeating: "a", count: 4076)), "200"),
    RequestCase("4097", .alert(String(repeating: "a", count: 4077)), "PayloadTooLarge"),
    RequestCase("voip 5120", .alert(String(repeating: "a", count: 5100), voip), "200"),
    RequestCase("voip 5121", .alert(String(repeating: "a", count: 5101), voip), "PayloadTooLarge"),
    RequestCase("é 4096", .alert(String(repeating: "é", count: 2038)), "200"),
    RequestCase("é 4097", .alert(String(repeating: "é", count: 2038) + "a"), "PayloadTooLarge"),
    RequestCase("emoji raw", .alert(String(repeating: "😀", count: 1019)), "200"),
    RequestCase("emoji escaped", .alert(String(repeating: #"\ud83d\ude00"#, count: 1019)), "PayloadTooLarge"),
    RequestCase("slashes raw", .alert(String(repeating: "/", count: 4076)), "200"),
    RequestCase("slashes escaped", .alert(String(repeating: #"\/"#, count: 4076)), "PayloadTooLarge"),
    RequestCase("no body", .sample(body: ""), "PayloadEmpty"),
    RequestCase("empty object", .sample(body: "{}"), "200"),
    RequestCase("empty aps", .sample(body: #"{"aps":{}}"#), "200"),
    RequestCase("not JSON", .sample(body: "hello"), "200"),
    RequestCase("array", .sample(body: "[1]"), "200"),
  ]

  @Test(
    "a request with a single defect gets that defect's reason",
    arguments: [methodAndPath, deviceTokens, headers, topicsAndTypes, sizes].flatMap(\.self))
  func singleDefect(test: RequestCase) throws {
    var rules = try SimulatorFixture.rules()

    #expect(rules.answer(to: test.request) == test.answer)
  }

  @Test("a field of Apple's that stands twice is refused, with the same value too", arguments: HeaderRules.single)
  func duplicates(name: String) throws {
    var rules = try SimulatorFixture.rules()
    var request = PushRequest.sample()
    let field = try #require(request.fields.first { $0.name == name })
    request.fields.append(field)

    #expect(rules.answer(to: request) == "DuplicateHeaders")
  }

  @Test("other fields may stand twice")
  func harmlessDuplicates() throws {
    var rules = try SimulatorFixture.rules()
    var request = PushRequest.sample()
    request.fields += [.init("x-trace", "1"), .init("x-trace", "1")]

    #expect(rules.answer(to: request) == "200")
  }

  @Test("each push type is accepted with the topic of its suffix", arguments: PushType.allCases)
  func pushTypes(type: PushType) throws {
    var rules = try SimulatorFixture.rules()
    let request = PushRequest.sample([
      "apns-push-type": type.rawValue, "apns-topic": "com.example.app" + (type.topicSuffix ?? ""),
      "apns-priority": type == .background ? "5" : "10",
    ])

    #expect(rules.answer(to: request) == "200")
  }

  @Test("a topic outside the credential is refused, its suffixed topics are inside")
  func topics() throws {
    var rules = try SimulatorFixture.rules()
    rules.topics.bundleIDs = ["com.example.other", "com.example.app"]

    #expect(rules.answer(to: .sample()) == "200")
    #expect(rules.answer(to: .sample(Self.voip)) == "200")
    #expect(rules.answer(to: .sample(["apns-topic": "com.example.third"])) == "TopicDisallowed")
    #expect(rules.answer(to: .sample(["apns-topic": "com.example.app.extra"])) == "TopicDisallowed")
  }

  @Test("the fate of a listed device token does not depend on its case")
  func registry() throws {
    var rules = try SimulatorFixture.rules()
    rules.devices["0A01"] = .bad
    rules.devices["0a02"] = .otherTopic
    rules.devices["0a03"] = .unregistered(since: UnixMilliseconds(1_700_000_000_123))
    rules.devices["0a04"] = .unregistered(since: nil)

    #expect(rules.answer(to: .sample(path: "/3/device/0a01")) == "BadDeviceToken")
    #expect(rules.answer(to: .sample(path: "/3/device/0A02")) == "DeviceTokenNotForTopic")
    let dated = rules.judge(.sample(path: "/3/device/0A03"), now: SimulatorFixture.time())
    #expect(dated.rejection == Rejection(.unregistered, timestamp: UnixMilliseconds(1_700_000_000_123)))
    #expect(dated.status == 410)
    let undated = rules.judge(.sample(path: "/3/device/0a04"), now: SimulatorFixture.time(5))
    #expect(undated.rejection == Rejection(.unregistered, timestamp: SimulatorFixture.time(5)))
  }

  @Test("with strict devices, only listed device tokens are good")
  func strictRegistry() throws {
    var rules = try SimulatorFixture.rules()
    rules.devices = DeviceRegistry(strict: true)
    rules.devices["0a01"] = .ok

    #expect(rules.answer(to: .sample(path: "/3/device/0A01")) == "200")
    #expect(rules.answer(to: .sample(path: "/3/device/0a02")) == "BadDeviceToken")
  }

  @Test("the apns-id is echoed as sent when it is one")
  func echo() throws {
    var rules = try SimulatorFixture.rules()

    let upper = rules.judge(.sample(["apns-id": "123E4567-E89B-12D3-A456-4266554400A0"]), now: SimulatorFixture.time())
    let bad = rules.judge(.sample(["apns-id": "1-1-1-1-1"]), now: SimulatorFixture.time())

    #expect(upper.messageID == "123E4567-E89B-12D3-A456-4266554400A0")
    #expect(bad.messageID == nil)
  }
}

extension PushRequest {
  /// `{"aps":{"alert":"…"}}`: 20 bytes and the text.
  static func alert(_ text: String, _ changes: [String: String?] = [:]) -> PushRequest {
    sample(changes, body: #"{"aps":{"alert":""# + text + #""}}"#)
  }
}
