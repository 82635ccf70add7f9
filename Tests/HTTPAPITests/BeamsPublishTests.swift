import JSON
import Operations
import PushCore
import Support
import Testing

@testable import HTTPAPI

/// What backends call that speak Beams.
@Suite(.timeLimit(.minutes(1))) struct BeamsPublishTests {
  private static let publishes = BeamsSettings.publishes
  private static let interests = publishes + "/interests"
  private static let users = publishes + "/users"

  @Test("a publish is enqueued with headers of its own, and everything inside aps stays as it was spelled")
  func publish() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let expiration = api.context.clocks.wallTime().seconds + 3600
      let aps =
        #"{"alert":{"title":"Dash\/board","body":"ü"}, "category":"LoginActions","payload":{"hash":"1.50","n":1.0}}"#
      let body =
        #"{"apns":{"aps":\#(aps),"data":{"k":"v"},"x":1e2,"collapse_id":"c","priority":5,"expiration":\#(expiration)},"interests":["auth-jane"]}"#

      let reply = try await api.beams("POST", Self.interests, body, bearer: BeamsSettings.secret)

      #expect(reply.status == 200)
      let publishID = try #require(try reply.json()["publishId"]?.string)
      #expect(publishID.hasPrefix("pubid-") && UUIDText.isUUID(String(publishID.dropFirst(6))))
      let listed = try await api.store.notifications(NotificationQuery(), before: nil, limit: 2).notifications
      let status = try #require(listed.first)
      let stored = try #require(try await api.store.notification(status.id))
      #expect(listed.count == 1 && status.lane == .urgent && status.expiresAt == UnixMilliseconds(expiration * 1000))
      #expect(stored.headers == PushHeaders(pushType: .alert, priority: .powerConscious, collapseID: "c"))
      #expect(
        String(decoding: stored.payload ?? [], as: UTF8.self)
          == #"{"aps":{"alert":{"title":"Dash\/board","body":"ü"},"category":"LoginActions","payload":{"hash":"1.50","n":1.0},"content-available":1},"x":1e2,"data":{"k":"v","pusher":{"publishId":"\#(publishID)","instanceId":"\#(BeamsSettings.instance)","userShouldIgnore":true}}}"#
      )
    }
  }

  @Test("a publish with a webhook stores its URL, and its own body as it came")
  func webhook() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let url = #"https:\/\/jane:secret@example.com\/hook"#
      let body = #"{ "apns":{"aps":{"alert":"\u00fc\/"}},"interests":["a"],"webhookUrl":"\#(url)","n":1.0 }"#
      for webhook in [body, body.replacing("\"\(url)\"", with: "null")] {
        #expect(try await api.beams("POST", Self.interests, webhook, bearer: BeamsSettings.secret).status == 200)
      }

      let messages = try await api.store.claimWebhooks(lease: .seconds(60), limit: 9)
      #expect(messages.count == 1 && messages.first?.content == .started)
      #expect(messages.first?.webhook.url.reveal() == "https://jane:secret@example.com/hook")
      #expect(messages.first?.webhook.requestBody == Array(body.utf8))
    }
  }

  @Test("where the settings allow http and a network, a webhook may go there")
  func allowedWebhook() async throws {
    let settings = BeamsSettings.json.replacing(
      "{ \"beams\"", with: #"{ "webhooks": { "allow_http": true, "allowed_networks": ["10.0.0.0/8"] }, "beams""#)
    try await withAPI(settings: settings) { api in
      let body = #"{"apns":{"aps":{"alert":"x"}},"interests":["a"],"webhookUrl":"http://10.0.0.1:8080/"}"#
      let reply = try await api.beams("POST", Self.interests, body, bearer: BeamsSettings.secret)
      #expect(reply.status == 200)
    }
  }

  @Test("an app that is woken on purpose is not told to ignore the push; a push without anything to show is background")
  func waking() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let body = #"{"apns":{"aps":{"content-available":1},"priority":10},"users":["jane"]}"#
      #expect(try await api.beams("POST", Self.users, body, bearer: BeamsSettings.secret).status == 200)

      let id = try #require(
        try await api.store.notifications(NotificationQuery(), before: nil, limit: 1).notifications.first?.id)
      let stored = try #require(try await api.store.notification(id))
      #expect(stored.headers.pushType == .background && stored.headers.priority == .powerConscious)
      #expect(!String(decoding: stored.payload ?? [], as: UTF8.self).contains("userShouldIgnore"))
      #expect(stored.target.users == ["jane"] && !stored.target.reachesUnverifiedUsers)
    }
  }

  @Test("who has not the secret key of the instance publishes nothing")
  func keys() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let body = #"{"apns":{"aps":{"alert":"x"}},"interests":["a"]}"#
      let elsewhere = "/publish_api/v1/instances/11111111-0000-4000-8000-00000000beef/publishes"
      let unknown = try await api.beams("POST", elsewhere, body, bearer: BeamsSettings.secret)
      let without = try await api.beams("POST", Self.publishes, body)
      let wrong = try await api.beams("POST", Self.publishes, "no JSON", bearer: BeamsSettings.secret.lowercased())
      let apiKey = try await api.beams("POST", Self.publishes, body, bearer: try await api.key())
      let upper = try await api.beams(
        "POST", Self.publishes.replacing(BeamsSettings.instance, with: BeamsSettings.instance.uppercased()), body,
        bearer: BeamsSettings.secret)

      #expect(
        unknown.status == 404
          && unknown.text == #"{"error":"Instance not found","description":"Could not find the instance"}"#)
      #expect(without.status == 400 && without.text.contains("Authorization header missing"))
      #expect(wrong.status == 401 && wrong.text == #"{"error":"Unauthorized","description":"Incorrect Secret Key"}"#)
      #expect(apiKey.status == 401 && upper.status == 200)
    }
  }

  private static let faults: [(String, String, Int, String)] = [
    (interests, #"{"apns":{"aps":{}}}"#, 422, "`interests`: interests is required"),
    (users, #"{"apns":{"aps":{}}}"#, 422, "`users`: users is required"),
    (interests, #"{"interests":[],"apns":{"aps":{}}}"#, 422, "`interests`: Array must have at least 1 items"),
    (users, #"{"users":["a","a"],"apns":{"aps":{}}}"#, 422, "`users`: array items must be unique"),
    (
      interests, #"{"interests":["a/b"],"apns":{"aps":{}}}"#, 422,
      #"`interests.0`: Does not match pattern '^[a-zA-Z0-9_\-=@,.;]+$'"#
    ),
    (interests, #"{"interests":["a",""],"apns":{"aps":{}}}"#, 422, "`interests.1`: String length must be greater"),
    (interests, #"{"interests":["a",5],"apns":{"aps":{}}}"#, 422, "`interests.1`: Invalid type. Expected: string"),
    (interests, #"{"interests":["a"],"fcm":{}}"#, 422, "`apns`: apns is required"),
    (interests, #"{"interests":["a"],"apns":{"alert":"x"}}"#, 422, "`apns.aps`"),
    (
      interests, #"{"interests":["a"],"apns":{"aps":{"content-available":0}}}"#, 422,
      "`apns.aps.content-available`: apns.aps.content-available must be one of the following: 1"
    ),
    (interests, #"{"interests":["a"],"apns":{"aps":{},"data":{"pusher":{}}}}"#, 422, "`apns.data`"),
    (interests, #"{"interests":["a"],"apns":{"aps":{},"priority":7}}"#, 422, "`apns.priority`"),
    (interests, #"{"interests":["a"],"apns":{"aps":{"alert":"x"},"expiration":5}}"#, 422, "`apns.expiration`"),
    (interests, #"{"interests":["a"],"apns":{"aps":{}},"webhookUrl":7}"#, 422, "`webhookUrl`: Invalid type"),
    (
      interests, #"{"interests":["a"],"apns":{"aps":{}},"webhookUrl":"http://example.com"}"#, 422,
      "`webhookUrl`: the URL must begin with https://"
    ),
    (
      users, #"{"users":["a"],"apns":{"aps":{}},"webhookUrl":"https://x:SECRET@10.0.0.1/"}"#, 422,
      "`webhookUrl`: the URL leads to 10.0.0.1, a private address"
    ),
    (interests, "[]", 400, "not a JSON object"), (interests, "{", 400, "not a JSON object"),
    (interests, #"{"x":"\#(String(repeating: "x", count: 10 << 10))"}"#, 400, "10 KiB"),
    (users, #"{"x":"\#(String(repeating: "x", count: 200 << 10))"}"#, 400, "200 KiB"),
    (
      interests, #"{"interests":["a"],"apns":{"aps":{"alert":"\#(String(repeating: "x", count: 4200))"}}}"#, 422,
      "`apns`: "
    ),
  ]

  @Test("a publish that cannot be sent is refused in the service's words, and nothing is enqueued", arguments: faults)
  func refusals(path: String, body: String, status: Int, description: String) async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let reply = try await api.beams("POST", path, body, bearer: BeamsSettings.secret)

      #expect(reply.status == status)
      let error = try reply.json()
      #expect(error["description"]?.string?.contains(description) == true, "\(reply.text)")
      #expect(error["error"]?.string == (status == 422 ? "Unprocessable Entity" : "Bad request"))
      #expect(try await api.store.notifications(NotificationQuery(), before: nil, limit: 1).notifications.isEmpty)
    }
  }

  @Test("an instance that publishes more than a hundred times in a second hears 429")
  func limit() async throws {
    try await withAPI(settings: BeamsSettings.json, clocks: DrivenClocks()) { api in
      while api.context.limits.allowsBackend(of: BeamsSettings.instance, now: api.context.clocks.monotonicTime()) {}
      let reply = try await api.beams("POST", Self.publishes, "{}", bearer: BeamsSettings.secret)
      #expect(reply.text == #"{"error":"Rate Limited","description":"more than 100 requests in a second"}"#)
    }
  }

  @Test(
    "a user is forgotten however an SDK spells the id",
    arguments: ["a%20b/c%40%C3%A9%2B", "a%20b%2Fc%40%C3%A9%2B", "a+b%2Fc%40%C3%A9%2B", "a%20b%2Fc%40%C3%A9+"])
  func users(spelling: String) async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let device = "\(BeamsSettings.devices)/\(try await api.beamsDevice("ab"))"
      // What + stands for cannot be told in a path that also spaces are written with + in.
      let user = spelling.hasPrefix("a+") ? "a b/c@é " : "a b/c@é+"
      let token = BeamsSettings.token(BeamsSettings.claims(user))
      #expect(try await api.beams("PUT", device + "/user", bearer: token).status == 200)

      for api_ in ["customer_api", "user_api"] {
        let reply = try await api.beams(
          "DELETE",
          "/\(api_)/v1/instances/\(BeamsSettings.instance)/users/\(spelling.replacing("%2B", with: user.hasSuffix(" ") ? "+" : "%2B"))",
          bearer: BeamsSettings.secret)
        #expect(reply.status == 200 && reply.body.isEmpty)
      }
      #expect(try await api.beams("GET", device).status == 404)
    }
  }

  @Test("a user id that is too long is refused, an empty one is nowhere, and a wrong key removes nobody")
  func badUsers() async throws {
    try await withAPI(settings: BeamsSettings.json) { api in
      let path = "/customer_api/v1/instances/\(BeamsSettings.instance)/users/"
      let long = try await api.beams("DELETE", path + String(repeating: "u", count: 165), bearer: BeamsSettings.secret)
      #expect(long.status == 400 && long.text.contains("'User id' is too long, max length is 164"))
      #expect(try await api.beams("DELETE", path, bearer: BeamsSettings.secret).status == 404)
      #expect(try await api.beams("DELETE", path + "jane", bearer: "wrong").status == 401)
    }
  }
}
