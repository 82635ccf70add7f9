import JSON
import Operations
import Testing

@testable import APNsSimulator

@Suite("Rules of the calls that manage channels")
struct ChannelRulesTests {
  static let recent = ["apns-channel-id": ChannelFixture.recent]
  static let list = "/1/apps/com.example.app/all-channels"

  static let paths = [
    RequestCase("creation", .create(), "200"),
    RequestCase("reading", .call("GET", recent), "200"),
    RequestCase("deletion", .call("DELETE", recent), "200"),
    RequestCase("list", .call("GET", path: list), "200"),
    RequestCase("PUT", .call("PUT", recent), "MethodNotAllowed"),
    RequestCase("POST to the list", .call("POST", path: list), "MethodNotAllowed"),
    RequestCase("DELETE of the list", .call("DELETE", path: list), "MethodNotAllowed"),
    RequestCase("push to a device", .call("POST", path: "/3/device/0a0b"), "BadPath"),
    RequestCase("broadcast", .call("POST", path: "/4/broadcasts/apps/com.example.app"), "BadPath"),
    RequestCase("no app", .call("GET", path: "/1/apps//channels"), "BadPath"),
    RequestCase("no such list", .call("GET", path: "/1/apps/com.example.app/channel"), "BadPath"),
    RequestCase("id in the path", .call("GET", path: "/1/apps/com.example.app/channels/cmVjZW50"), "BadPath"),
    RequestCase("query", .call("GET", path: "\(list)?limit=5"), "BadRequestParams"),
    RequestCase("malformed app", .call("GET", path: "/1/apps/com..example/all-channels"), "BadTopic"),
    RequestCase("suffixed app", .call("GET", path: "/1/apps/com.example.app.voip/all-channels"), "TopicDisallowed"),
  ]

  static let headers = [
    RequestCase("no authorization", .call("GET", path: list, ["authorization": nil]), "MissingProviderToken"),
    RequestCase("bad request id", .call("GET", path: list, ["apns-request-id": "1"]), "BadMessageId"),
    RequestCase("no request id", .call("GET", path: list, ["apns-request-id": nil]), "200"),
    RequestCase("reading no channel", .call("GET"), "MissingChannelId"),
    RequestCase("deleting no channel", .call("DELETE"), "MissingChannelId"),
    RequestCase("reading a malformed channel", .call("GET", ["apns-channel-id": "%"]), "BadChannelId"),
    RequestCase("deleting a malformed channel", .call("DELETE", ["apns-channel-id": "abc"]), "BadChannelId"),
    RequestCase("reading an unknown channel", .call("GET", ["apns-channel-id": "YWJj"]), "ChannelNotRegistered"),
    RequestCase("deleting an unknown channel", .call("DELETE", ["apns-channel-id": "YWJj"]), "ChannelNotRegistered"),
    RequestCase(
      "reading a channel of the other environment", .call("GET", ["apns-channel-id": ChannelFixture.sandbox]),
      "ChannelNotRegistered"),
  ]

  static let bodies = [
    RequestCase("policy 0", .create(#"{"push-type":"LiveActivity","message-storage-policy":0}"#), "200"),
    RequestCase("no body", .create(""), "BadRequestPayload"),
    RequestCase("not JSON", .create("{"), "BadRequestPayload"),
    RequestCase("array", .create("[]"), "BadRequestPayload"),
    RequestCase("no policy", .create(#"{"push-type":"LiveActivity"}"#), "BadRequestPayload"),
    RequestCase("policy 2", .create(#"{"message-storage-policy":2,"push-type":"LiveActivity"}"#), "BadRequestPayload"),
    RequestCase(
      "policy as text", .create(#"{"message-storage-policy":"1","push-type":"LiveActivity"}"#), "BadRequestPayload"),
    RequestCase(
      "policy twice",
      .create(#"{"message-storage-policy":1,"message-storage-policy":1,"push-type":"LiveActivity"}"#),
      "BadRequestPayload"),
    RequestCase(
      "another key", .create(#"{"message-storage-policy":1,"push-type":"LiveActivity","name":"a"}"#),
      "BadRequestPayload"),
    RequestCase("no push type", .create(#"{"message-storage-policy":1}"#), "MissingPushType"),
    RequestCase("push type alert", .create(#"{"message-storage-policy":1,"push-type":"alert"}"#), "InvalidPushType"),
  ]

  @Test("a call with a single defect gets that defect's reason", arguments: [paths, headers, bodies].flatMap(\.self))
  func singleDefect(test: RequestCase) throws {
    var rules = try ChannelFixture.rules()

    #expect(rules.answer(to: test.request) == test.answer)
  }

  @Test("a field of Apple's that stands twice is refused", arguments: ChannelRules.single)
  func duplicates(name: String) throws {
    var rules = try ChannelFixture.rules()
    var request = PushRequest.call("GET", Self.recent)
    request.fields.append(try #require(request.fields.first { $0.name == name }))

    #expect(rules.answer(to: request) == "DuplicateHeaders")
  }

  @Test("a channel is created, read, listed and deleted, each with Apple's status and answer")
  func life() throws {
    var rules = try SimulatorFixture.rules()
    let now = SimulatorFixture.time(100)

    let created = rules.judge(.create(), now: now)
    let id = try #require(created.success.channelID)
    let read = rules.judge(.call("GET", ["apns-channel-id": id]), now: now)
    let listed = rules.judge(.call("GET", path: Self.list), now: now)
    let broadcast = rules.answer(to: .broadcast(["apns-channel-id": id]))
    let deleted = rules.judge(.call("DELETE", ["apns-channel-id": id]), now: now)
    let again = rules.judge(.call("DELETE", ["apns-channel-id": id]), now: now)
    let empty = rules.judge(.call("GET", path: Self.list), now: now)

    #expect([created, read, listed, deleted, again, empty].map(\.status) == [201, 200, 200, 204, 400, 200])
    #expect(id.count == 24 && ChannelStore.isChannelID(id))
    #expect(created.success.body == [] && deleted.success.body == [])
    #expect(
      String(decoding: read.success.body, as: UTF8.self) == #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
    #expect(try JSONValue(parsing: listed.success.body)["channels"]?.array?.map(\.string) == [id])
    #expect(broadcast == "200")
    #expect(again.rejection == Rejection(.channelNotRegistered))
    #expect(rules.answer(to: .broadcast(["apns-channel-id": id])) == "ChannelNotRegistered")
    #expect(String(decoding: empty.success.body, as: UTF8.self) == #"{"channels":[]}"#)
  }

  @Test("ids differ from each other, and each environment has its own channels")
  func environments() throws {
    var rules = try SimulatorFixture.rules()
    let now = SimulatorFixture.time(100)

    let ids = try [Environment.production, .production, .development].map {
      try #require(rules.judge(.create(environment: $0), now: now).success.channelID)
    }

    #expect(Set(ids).count == 3)
    #expect(rules.channels.ids(of: ChannelFixture.app) == ids[..<2].sorted())
    #expect(rules.channels.ids(of: ChannelFixture.sandboxApp) == [ids[2]])
  }

  @Test("an app has at most 10,000 channels in an environment, and a deleted one makes room")
  func limit() throws {
    var rules = try SimulatorFixture.rules()
    let ids = (0..<9_999).map { String(10_000 + $0 * 2) + "abc" }
    rules.channels = ChannelStore([
      ChannelFixture.app: Dictionary(uniqueKeysWithValues: ids.map { ($0, .none) })
    ])

    let last = rules.answer(to: .create())
    let over = rules.answer(to: .create())
    let elsewhere = rules.answer(to: .create(environment: .development))
    _ = rules.judge(.call("DELETE", ["apns-channel-id": ids[0]]), now: SimulatorFixture.time(100))

    #expect([last, over, elsewhere] == ["200", "CannotCreateChannelConfig", "200"])
    #expect(rules.answer(to: .create()) == "200")
  }

  @Test("a body that means nothing is noted")
  func needlessBody() throws {
    var rules = try ChannelFixture.rules()

    let verdicts = [PushRequest.call("GET", Self.recent, body: "{}"), .call("GET", Self.recent), .create()].map {
      rules.judge($0, now: SimulatorFixture.time(100))
    }

    #expect(verdicts.allSatisfy { $0.isAccepted })
    #expect(verdicts.map(\.warnings) == [["only the creation of a channel has a body"], [], []])
  }

  @Test("a refused call changes nothing")
  func refused() throws {
    var rules = try ChannelFixture.rules()

    for request in [
      PushRequest.call("DELETE", ["apns-channel-id": ChannelFixture.recent, "authorization": nil]),
      .call("DELETE", ["apns-channel-id": ChannelFixture.recent, "apns-request-id": "1"]),
      .call("POST", ["authorization": nil], body: #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#),
      .create("{}"),
    ] { _ = rules.judge(request, now: SimulatorFixture.time(100)) }

    #expect(rules.channels.ids(of: ChannelFixture.app) == [ChannelFixture.storeless, ChannelFixture.recent])
  }

  @Test("no call is taken for another credential's app, or without the capability")
  func credential() throws {
    var rules = try ChannelFixture.rules()
    let calls = [
      PushRequest.create(), .call("GET", Self.recent), .call("DELETE", Self.recent), .call("GET", path: Self.list),
    ]

    rules.channels.setCapability(false, of: "com.example.app")
    let incapable = calls.map { rules.answer(to: $0) }
    rules.topics.bundleIDs = ["com.example.other"]
    let foreign = calls.map { rules.answer(to: $0) }

    #expect(incapable == Array(repeating: "FeatureNotEnabled", count: 4))
    #expect(foreign == Array(repeating: "TopicMismatch", count: 4))
  }

  @Test(
    "the word of a listener names its role",
    arguments: [
      ("production", ListenerRole(.production)), ("sandbox", ListenerRole(.development)),
      ("manage-production", ListenerRole(.production, managesChannels: true)),
      ("manage-sandbox", ListenerRole(.development, managesChannels: true)),
    ])
  func listenerNames(name: String, role: ListenerRole) {
    #expect(ListenerRole(listenerName: name) == role)
    #expect(role.listenerName == name)
  }

  @Test("no other word names a role", arguments: ["", "manage", "manage-", "manage-manage-sandbox", "development"])
  func otherNames(name: String) {
    #expect(ListenerRole(listenerName: name) == nil)
  }
}
