import Operations
import Testing

@testable import APNsSimulator

@Suite("Rules of the broadcast")
struct BroadcastRulesTests {
  static let storeless = ["apns-channel-id": ChannelFixture.storeless]

  static let paths = [
    RequestCase("sound", .broadcast(), "200"),
    RequestCase("GET", .broadcast(method: "GET"), "MethodNotAllowed"),
    RequestCase("version 3", .broadcast(path: "/3/broadcasts/apps/com.example.app"), "BadPath"),
    RequestCase("no app", .broadcast(path: "/4/broadcasts/apps/"), "BadPath"),
    RequestCase("more behind the app", .broadcast(path: "/4/broadcasts/apps/com.example.app/a"), "BadPath"),
    RequestCase("query", .broadcast(path: "/4/broadcasts/apps/com.example.app?a=b"), "BadPath"),
    RequestCase("malformed app", .broadcast(path: "/4/broadcasts/apps/com..example"), "BadTopic"),
    RequestCase(
      "suffix of Live Activities", .broadcast(path: "/4/broadcasts/apps/com.example.app.push-type.liveactivity"),
      "TopicDisallowed"),
    RequestCase("suffix of voip", .broadcast(path: "/4/broadcasts/apps/com.example.app.voip"), "TopicDisallowed"),
    RequestCase(
      "suffix that is none", .broadcast(path: "/4/broadcasts/apps/com.example.app.push-type.live"), "TopicDisallowed"),
    RequestCase("creation of a channel", .broadcast(path: "/1/apps/com.example.app/channels"), "BadPath"),
    RequestCase("list of channels", .broadcast(method: "GET", path: "/1/apps/com.example.app/all-channels"), "BadPath"),
  ]

  static let headers = [
    RequestCase("no authorization", .broadcast(["authorization": nil]), "MissingProviderToken"),
    RequestCase("bad authorization", .broadcast(["authorization": "bearer a.b.c"]), "InvalidProviderToken"),
    RequestCase("no request id", .broadcast(["apns-request-id": nil]), "200"),
    RequestCase("request id 1-1-1-1-1", .broadcast(["apns-request-id": "1-1-1-1-1"]), "BadMessageId"),
    RequestCase("no channel", .broadcast(["apns-channel-id": nil]), "MissingChannelId"),
    RequestCase("empty channel", .broadcast(["apns-channel-id": ""]), "BadChannelId"),
    RequestCase("channel without padding", .broadcast(["apns-channel-id": "bm9uZQ"]), "BadChannelId"),
    RequestCase("channel in base64url", .broadcast(["apns-channel-id": "bm9-_w=="]), "BadChannelId"),
    RequestCase("padding in the middle", .broadcast(["apns-channel-id": "bm9=uZQ="]), "BadChannelId"),
    RequestCase("unknown channel", .broadcast(["apns-channel-id": "dW5rbm93bg=="]), "ChannelNotRegistered"),
    RequestCase(
      "channel of the other environment", .broadcast(["apns-channel-id": ChannelFixture.sandbox]),
      "ChannelNotRegistered"),
    RequestCase(
      "channel of another app", .broadcast(path: "/4/broadcasts/apps/com.example.other"), "ChannelNotRegistered"),
    RequestCase("no push type", .broadcast(["apns-push-type": nil]), "MissingPushType"),
    RequestCase("push type as in Apple's table", .broadcast(["apns-push-type": "Liveactivity"]), "200"),
    RequestCase("push type alert", .broadcast(["apns-push-type": "alert"]), "InvalidPushType"),
    RequestCase("empty push type", .broadcast(["apns-push-type": ""]), "InvalidPushType"),
    RequestCase("no expiration", .broadcast(["apns-expiration": nil]), "BadExpirationDate"),
    RequestCase("expiration 0", .broadcast(["apns-expiration": "0"]), "200"),
    RequestCase("negative expiration", .broadcast(["apns-expiration": "-1"]), "BadExpirationDate"),
    RequestCase("expiration on a channel without storage", .broadcast(storeless), "BadExpirationDate"),
    RequestCase(
      "expiration 0 on a channel without storage", .broadcast(storeless.merging(["apns-expiration": "0"]) { $1 }), "200"
    ),
    RequestCase("no priority", .broadcast(["apns-priority": nil]), "BadPriority"),
    RequestCase("priority 5", .broadcast(["apns-priority": "5"]), "200"),
    RequestCase("priority 1", .broadcast(["apns-priority": "1"]), "200"),
    RequestCase("priority 2", .broadcast(["apns-priority": "2"]), "BadPriority"),
  ]

  /// A body of so many bytes.
  static func body(_ bytes: Int) -> String {
    let frame = #"{"aps":{"timestamp":1767225600,"event":"update","content-state":{"a":""}}}"#
    return frame.replacing(#""""#, with: "\"\(String(repeating: "a", count: bytes - frame.utf8.count))\"")
  }

  static let sizes = [
    RequestCase("5120", .broadcast(body: body(5120)), "200"),
    RequestCase("5121", .broadcast(body: body(5121)), "PayloadTooLarge"),
    RequestCase("no body", .broadcast(body: ""), "PayloadEmpty"),
    RequestCase("not JSON", .broadcast(body: "hello"), "200"),
  ]

  @Test(
    "a broadcast with a single defect gets that defect's reason",
    arguments: [paths, headers, sizes].flatMap(\.self))
  func singleDefect(test: RequestCase) throws {
    var rules = try ChannelFixture.rules()

    #expect(rules.answer(to: test.request) == test.answer)
  }

  @Test("a field of Apple's that stands twice is refused", arguments: BroadcastRules.single)
  func duplicates(name: String) throws {
    var rules = try ChannelFixture.rules()
    var request = PushRequest.broadcast()
    request.fields.append(try #require(request.fields.first { $0.name == name }))

    #expect(rules.answer(to: request) == "DuplicateHeaders")
  }

  @Test("a bundle id of another credential is a mismatch, and so is one that was taken from the key")
  func otherApp() throws {
    var rules = try ChannelFixture.rules()
    rules.topics.bundleIDs = ["com.example.app"]

    let own = rules.answer(to: .broadcast())
    let other = rules.answer(to: .broadcast(path: "/4/broadcasts/apps/com.example.other"))
    rules.topics.remove("com.example.app", keyID: "TESTKEY001")
    let removed = rules.answer(to: .broadcast())

    #expect([own, other, removed] == ["200", "TopicMismatch", "TopicMismatch"])
    #expect(Reason.topicMismatch.status == 403)
  }

  @Test("a bundle id that ends like a topic's suffix is an app when the credential lists it")
  func suffixedApp() throws {
    var rules = try ChannelFixture.rules()
    rules.topics.bundleIDs = ["com.example.voip"]

    #expect(rules.answer(to: .broadcast(path: "/4/broadcasts/apps/com.example.voip")) == "ChannelNotRegistered")
    #expect(rules.answer(to: .broadcast(path: "/4/broadcasts/apps/com.example.voip.voip")) == "TopicDisallowed")
  }

  @Test("the credential is judged before everything else about the request")
  func order() throws {
    var rules = try ChannelFixture.rules()
    rules.channels.setCapability(false, of: "com.example.app")
    let nonsense = ["authorization": nil, "apns-channel-id": "?", "apns-push-type": "a", "apns-priority": "b"]

    #expect(rules.answer(to: .broadcast(nonsense, body: "")) == "MissingProviderToken")
  }

  @Test(
    "without the capability no broadcast is taken, and switched on again the channels are gone in both environments")
  func capability() throws {
    var rules = try ChannelFixture.rules()
    let sandbox = PushRequest.broadcast(["apns-channel-id": ChannelFixture.sandbox], environment: .development)
    let before = [rules.answer(to: .broadcast()), rules.answer(to: sandbox)]

    rules.channels.setCapability(false, of: "com.example.app")
    let without = [rules.answer(to: .broadcast()), rules.answer(to: sandbox)]
    rules.channels.setCapability(true, of: "com.example.app")
    let again = [rules.answer(to: .broadcast()), rules.answer(to: sandbox)]

    #expect(before == ["200", "200"])
    #expect(without == ["FeatureNotEnabled", "FeatureNotEnabled"])
    #expect(again == ["ChannelNotRegistered", "ChannelNotRegistered"])
    #expect(rules.answer(to: .sample()) == "200", "pushes to devices need no such capability")
  }

  @Test(
    "a broadcast is accepted, and what devices ignore or drop is noted",
    arguments: [
      (.broadcast(), nil),
      (
        .broadcast(body: #"{"aps":{"timestamp":1767225600,"event":"start","content-state":{}}}"#),
        "a broadcast cannot start a Live Activity; aps.event is update or end"
      ),
      (.broadcast(body: #"{"aps":{"timestamp":1767225600,"event":"end","content-state":{}}}"#), nil),
      (.broadcast(body: #"{"aps":{"event":"end","content-state":{}}}"#), "liveactivity pushes need aps.timestamp"),
      (
        .broadcast(body: #"{"aps":{"timestamp":1767225600,"event":"end"}}"#),
        "liveactivity pushes need aps.content-state"
      ),
      (.broadcast(body: #"{"aps":{"timestamp":1767225600,"content-state":{}}}"#), "liveactivity pushes need aps.event"),
      (.broadcast(body: "[]"), "the payload is an array, not an object"),
      (.broadcast(["apns-topic": "com.example.app"]), "apns-topic says nothing in a broadcast"),
      (
        .broadcast(["apns-request-id": "123E4567-E89B-12D3-A456-4266554400A0"]),
        "apns-request-id is not in lower case"
      ),
      (
        .broadcast(["apns-expiration": String(SimulatorFixture.issuedAt + 100 + 8 * 3600 + 1)]),
        "apns-expiration is more than 8 hours ahead; APNs stores a broadcast for 8 hours at most"
      ),
    ] as [(PushRequest, String?)])
  func warnings(request: PushRequest, warning: String?) throws {
    var rules = try ChannelFixture.rules()

    let verdict = rules.judge(request, now: SimulatorFixture.time(100))

    #expect(verdict.isAccepted)
    #expect(verdict.warnings == (warning.map { [$0] } ?? []))
  }

  @Test("a broadcast is known by its request id and has no apns-id and no device")
  func identity() throws {
    var rules = try ChannelFixture.rules()

    let verdict = rules.judge(
      .broadcast(["apns-id": "323e4567-e89b-12d3-a456-4266554400a0"]), now: SimulatorFixture.time(100))

    #expect(verdict.requestID == "123e4567-e89b-12d3-a456-4266554400a0")
    #expect(verdict.messageID == nil)
    #expect(verdict.deviceToken == nil)
  }

  @Test("the start of a Live Activity on a channel that the app does not have is noted")
  func startOnChannel() throws {
    var rules = try ChannelFixture.rules()
    func warnings(_ channel: String) -> [String] {
      let request = PushRequest.sample(
        ["apns-push-type": "liveactivity", "apns-topic": "com.example.app.push-type.liveactivity"],
        body: #"{"aps":{"timestamp":1,"event":"start","content-state":{},"attributes-type":"A","attributes":{},"#
          + #""alert":{"title":"a","body":"b"},"input-push-channel":"\#(channel)"}}"#)
      return rules.judge(request, now: SimulatorFixture.time(100)).warnings
    }

    #expect(warnings(ChannelFixture.recent) == [])
    #expect(
      warnings(ChannelFixture.sandbox) == ["aps.input-push-channel is no channel of the app in this environment"])
  }
}
