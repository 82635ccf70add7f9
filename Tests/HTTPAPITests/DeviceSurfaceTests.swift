import JSON
import Operations
import PushCore
import Support
import Testing

@testable import HTTPAPI

/// What apps call without a key: the registrations of the seeds.
@Suite(.timeLimit(.minutes(1))) struct DeviceSurfaceTests {
  private static let token = "fcc37fb74f2506277739c1e343c535f131447327105e23ad2a0ce"

  @Test("the push book's app registers at each launch, and debug decides the environment")
  func pushBook() async throws {
    try await withAPI { api in
      let first = try await api.call(
        "POST", "/api/token",
        body: "{\n  \"token\" : \"\(Self.token)\",\n  \"debug\" : true, \"language\" : \"en-US\"\n}")
      let again = try await api.call(
        "POST", "/token", body: #"{"token":"\#(Self.token)","debug":true,"language":"pt-BR"}"#)
      let sandbox = try await api.devices()
      let released = try await api.call(
        "POST", "/", body: #"{"token":"\#(Self.token)","debug":false,"language":"x y"}"#)
      let production = try await api.devices()

      #expect(first.status == 200 && again.status == 201 && again.body.isEmpty && released.status == 201)
      let answer = try first.json()
      #expect(answer["token"]?.string == Self.token && answer["debug"]?.bool == true)
      #expect(answer["id"]?.string.map(UUIDText.isUUID) == true)
      #expect(sandbox.map(\.environment) == [.sandbox] && sandbox[0].language == "pt-BR")
      #expect(production.map(\.environment) == [.production] && production[0].language == "pt-BR")
    }
  }

  @Test(
    "a push book's registration that cannot be used is 400 with a reason",
    arguments: [
      #"{"token":"ab"}"#, #"{"token":"ab","debug":1}"#, #"{"debug":true}"#, #"{"token":"xyz","debug":true}"#, "[]", "{",
      #"{"token":"","debug":true}"#,
    ])
  func badPushBook(body: String) async throws {
    try await withAPI { api in
      let reply = try await api.call("POST", "/api/token", body: body)

      #expect(reply.status == 400)
      let error = try reply.json()
      #expect(error["error"]?.bool == true && error["reason"]?.string?.isEmpty == false)
      #expect(try await api.devices().isEmpty)
    }
  }

  @Test("an app names its user: 201, then 200; tokens gather, and the last name is shown")
  func appUsers() async throws {
    try await withAPI { api in
      let path = "/v1/user/001234.5678.0123"
      func put(_ token: String, _ name: String) async throws -> HTTPReply {
        try await api.call(
          "PUT", path, body: #"{"bundle-id":"\#(LocalAPI.topic)","device-token":"\#(token)","name":"\#(name)"}"#)
      }

      let unknown = try await api.call("GET", path)
      let created = try await put("ab", "Test User 1")
      let updated = try await put(Self.token, "Renamed")
      let known = try await api.call("GET", path).json()

      #expect(unknown.status == 404 && unknown.body.isEmpty)
      #expect(created.status == 201 && created.text == #""Created user 001234.5678.0123""#)
      #expect(updated.status == 200 && updated.text == #""User 001234.5678.0123 updated""#)
      #expect(known["admin"]?.string == "False" && known["name"]?.string == "Renamed")
      #expect(known["user-id"]?.string == "001234.5678.0123")
      #expect(Set(known["device-tokens"]?.array?.compactMap(\.string) ?? []) == ["ab", Self.token])
      #expect(try await put("ab", "no name provided").status == 200)
      #expect(try await api.call("GET", path).json()["name"]?.string == "unnamed")
    }
  }

  @Test("a user that says too little gets back what was read")
  func incompleteUsers() async throws {
    try await withAPI { api in
      let empty = try await api.call(
        "PUT", "/v1/user/1", body: #"{"bundle-id":"\#(LocalAPI.topic)","device-token":"","name":"x"}"#)
      let missing = try await api.call("PUT", "/v1/user/1", body: #"{"bundle-id":5,"name":"x"}"#)
      let foreign = try await api.call(
        "PUT", "/v1/user/1", body: #"{"bundle-id":"com.example.other","device-token":"ab","name":"x"}"#)

      #expect(empty.status == 400 && missing.status == 400 && foreign.status == 400)
      #expect(empty.text == #"{"bundle-id":"\#(LocalAPI.topic)","device-token":"","name":"x"}"#)
      #expect(missing.text == #"{"bundle-id":null,"device-token":null,"name":"x"}"#)
      #expect(try await api.devices().isEmpty)
    }
  }

  @Test("the endpoints that need no key and give or do much are there only where the settings open them")
  func openEndpoints() async throws {
    let calls = [
      ("GET", "/v1/tokens", 200), ("GET", "/v1/tokens/\(LocalAPI.topic)", 200), ("GET", "/v1/user/1/tokens", 200),
      ("POST", "/api/token/notify", 204), ("POST", "/token/notify", 204), ("DELETE", "/token/ab", 204),
      ("DELETE", "/token/ab", 404), ("DELETE", "/api/token/ab", 200),
    ]
    let settings = #"{ "device_api": { "open_endpoints": ["tokens", "notify", "delete_token"] } }"#
    for isOpen in [false, true] {
      try await withAPI(settings: isOpen ? settings : "{}") { api in
        _ = try await api.call("POST", "/token", body: #"{"token":"ab","debug":false}"#)
        let document = try await api.call("GET", "/openapi.json").text
        #expect(document.contains("/token/notify") == isOpen)
        for (method, path, status) in calls {
          let reply = try await api.call(method, path)
          #expect(reply.status == (isOpen ? status : 404), "\(method) \(path)")
          if isOpen, path.hasPrefix("/v1/tokens") { #expect(reply.text == #"["ab"]"#) }
        }
        let notifications = try await api.store.notifications(NotificationQuery(), before: nil, limit: 10)
        #expect(notifications.notifications.count == (isOpen ? 2 : 0))
      }
    }
  }

  @Test("an address that calls too often hears it: 429 as a rule, 503 where a Beams SDK would never stop")
  func limits() async throws {
    try await withAPI(settings: BeamsSettings.json, clocks: DrivenClocks()) { api in
      while api.context.limits.wait(ofApp: IPAddress("127.0.0.1"), now: api.context.clocks.monotonicTime()) != nil {}
      let registration = try await api.call("POST", "/token", body: "{}")
      let beams = try await api.call("GET", BeamsSettings.devices + "/x")

      #expect(registration.status == 429 && registration["retry-after"] != nil)
      #expect(beams.status == 503 && beams["retry-after"] != nil)
      let error = try beams.json()
      #expect(error["error"]?.string?.isEmpty == false && error["description"]?.string != nil)
      #expect(try await api.call("GET", "/healthz").status == 200)
    }
  }

  @Test("a bucket gives its burst, fills with time, and many keys share one when they are too many")
  func buckets() {
    var buckets = TokenBuckets<Int>(burst: 2, rate: 1, keyLimit: 2)
    func take(_ keys: Int..., after: Duration) -> [Bool] {
      keys.map { buckets.take($0, now: MonotonicTime(nanoseconds: 1) + after) != nil }
    }

    #expect(take(1, 1, 1, after: .zero) == [true, true, false])
    #expect(take(1, after: .milliseconds(900)) == [false])
    #expect(take(1, 2, after: .milliseconds(1100)) == [true, true])
    #expect(take(3, 4, 5, after: .milliseconds(1100)) == [true, true, false])
    // Buckets that are full again make room.
    #expect(take(3, 4, 5, after: .seconds(60)) == [true, true, true])
  }

  @Test("calls beyond the burst wait for their turn, each behind the other, and only so many may")
  func waiting() {
    var buckets = TokenBuckets<Int>(burst: 1, rate: 10, waiting: 2)
    func take(after milliseconds: Int64) -> Duration? {
      buckets.take(1, now: MonotonicTime(nanoseconds: 1) + .milliseconds(milliseconds))
    }

    #expect([take(after: 0), take(after: 0), take(after: 0)] == [.zero, .milliseconds(100), .milliseconds(200)])
    #expect(take(after: 0) == nil)
    #expect(take(after: 100) == .milliseconds(200))
    #expect(take(after: 400) == .zero)
  }

  @Test("buckets that are full again are looked for once a second, however many new addresses come")
  func sweeps() {
    var buckets = TokenBuckets<Int>(burst: 1, rate: 10, keyLimit: 1)
    func take(_ keys: Int..., after milliseconds: Int64) -> [Bool] {
      keys.map { buckets.take($0, now: MonotonicTime(nanoseconds: 1) + .milliseconds(milliseconds)) != nil }
    }

    #expect(take(1, after: 0) == [true])
    #expect(take(2, after: 500) == [true])
    // No room is made for them: they share a bucket.
    #expect(take(3, 4, after: 900) == [true, false])
    #expect(take(5, 6, after: 1600) == [true, true])
  }

  @Test("phones of one IPv6 network count together, IPv4 addresses apart")
  func networks() throws {
    let (one, same) = (try #require(IPAddress("2001:db8::1")), try #require(IPAddress("2001:db8::ffff:2")))
    let other = try #require(IPAddress("2001:db8:0:1::1"))
    #expect(one.network64 == same.network64 && one.network64 != other.network64)
    #expect(try #require(IPAddress("192.0.2.1")).network64.description == "192.0.2.1")
  }
}

extension LocalAPI {
  /// Every registered device.
  func devices() async throws -> [Device] { try await store.devices(DeviceQuery(), after: DeviceID(0), limit: 1000) }
}
