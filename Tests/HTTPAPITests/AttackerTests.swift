import JSON
import Operations
import PushCore
import Support
import Testing

@testable import HTTPAPI

/// A client without any key who knows everything but secrets: the instance's id, names of users and interests, even ids and
/// tokens of devices. What she must not get is a push that is meant for somebody else.
@Suite(.timeLimit(.minutes(1))) struct AttackerTests {
  private static let own = "0a"
  private static let victim = "0b"
  private static let interest = "auth-jane-at-xy"

  /// A relay at which Jane has a device that was proved hers.
  private func withJane(
    settings: String = BeamsSettings.json, _ body: (LocalAPI, _ jane: String) async throws -> Void
  ) async throws {
    try await withAPI(settings: settings) { api in
      let jane = "\(BeamsSettings.devices)/\(try await api.beamsDevice(Self.victim))"
      #expect(try await api.beams("POST", "\(jane)/interests/\(Self.interest)").status == 200)
      #expect(try await api.beams("PUT", jane + "/user", bearer: token("jane@x.y")).status == 200)
      try await body(api, jane)
    }
  }

  private func token(_ user: String) -> String { BeamsSettings.token(BeamsSettings.claims(user)) }

  @Test("a protected interest is answered as usual and gives nothing, whichever call asks for it")
  func protectedInterests() async throws {
    try await withJane { api, _ in
      let mallory = "\(BeamsSettings.devices)/\(try await api.beamsDevice(Self.own))"
      #expect(try await api.beams("POST", "\(mallory)/interests/\(Self.interest)").status == 200)
      #expect(try await api.reached(interest: Self.interest) == [Self.victim])

      #expect(try await api.beams("PUT", mallory + "/interests", #"{"interests":["\#(Self.interest)"]}"#).status == 200)
      #expect(try await api.beamsDevice(Self.own) == String(mallory.split(separator: "/").last ?? ""))
      #expect(
        try await api.beams("GET", mallory + "/interests").json()["interests"]?.array?.compactMap(\.string)
          == [Self.interest])
      #expect(try await api.reached(interest: Self.interest) == [Self.victim])

      // Her own user token is good, and another's interest stays another's; the same slug is no proof.
      #expect(try await api.beams("PUT", mallory + "/user", bearer: token("j.ane@x.y")).status == 200)
      #expect(try await api.beams("POST", "\(mallory)/interests/\(Self.interest)").status == 200)
      #expect(try await api.reached(interest: Self.interest) == [Self.victim])
    }
  }

  @Test("only the backend grants a protected interest to a device that no token proves")
  func granting() async throws {
    try await withJane { api, _ in
      let mallory = "\(BeamsSettings.devices)/\(try await api.beamsDevice(Self.own))"
      _ = try await api.beams("POST", "\(mallory)/interests/auth-team")
      for (method, path) in [
        ("PUT", "/v1/devices/\(Self.own)/interests/auth-team"), ("PUT", "/v1/devices/\(Self.own)"),
        ("DELETE", "/v1/users/jane@x.y"), ("DELETE", "/v1/devices/\(Self.victim)"),
        ("GET", "/v1/devices/\(Self.victim)"),
      ] {
        for bearer in [nil, BeamsSettings.secret, token("jane@x.y")] {
          #expect(try await api.call(method, path, key: bearer).status == 401, "\(method) \(path)")
        }
      }
      #expect(try await api.reached(interest: "auth-team").isEmpty)

      let key = try await api.key()
      #expect(try await api.call("PUT", "/v1/devices/\(Self.own)/interests/auth-team", key: key).status == 204)
      #expect(try await api.reached(interest: "auth-team") == [Self.own])
    }
  }

  @Test(
    "who only says to be a user gets none of the user's pushes, unless the settings allow it", arguments: [false, true])
  func saidUsers(isAllowed: Bool) async throws {
    let settings = "{ \"users\": { \"allow_unverified\": \(isAllowed) }, " + String(BeamsSettings.json.dropFirst(2))
    try await withJane(settings: settings) { api, _ in
      let said = #"{"bundle-id":"\#(LocalAPI.topic)","device-token":"\#(Self.own)","name":"Jane"}"#
      let reply = try await api.call("PUT", "/v1/user/jane@x.y", body: said)
      let byBeams = try await api.reached(user: "jane@x.y", beams: true)
      let byBackend = try await api.reached(user: "jane@x.y", beams: false)

      #expect(reply.status == 201)
      #expect(byBeams == (isAllowed ? [Self.own, Self.victim] : [Self.victim]) && byBackend == byBeams)
    }
  }

  @Test("saying again who was proved keeps the proof; saying another user takes user and protected interests away")
  func rebinding() async throws {
    try await withJane { api, jane in
      func say(_ user: String) async throws {
        let said = #"{"bundle-id":"\#(LocalAPI.topic)","device-token":"\#(Self.victim)","name":"M"}"#
        #expect([200, 201].contains(try await api.call("PUT", "/v1/user/\(user)", body: said).status))
      }
      try await say("jane@x.y")
      #expect(try await api.reached(interest: Self.interest) == [Self.victim])
      #expect(try await api.reached(user: "jane@x.y", beams: true) == [Self.victim])

      // The phone is in other hands now, or so its app says: better nothing than Jane's pushes.
      try await say("mallory")
      #expect(try await api.reached(interest: Self.interest).isEmpty)
      #expect(try await api.reached(user: "jane@x.y", beams: true).isEmpty)
      #expect(try await api.reached(user: "mallory", beams: true).isEmpty)
      #expect(try await api.beams("GET", jane + "/interests").json()["interests"]?.array?.isEmpty == true)
    }
  }

  @Test("a user token of another instance, key, user or time binds nothing; neither does a good one twice")
  func userTokens() async throws {
    try await withJane { api, jane in
      let mallory = "\(BeamsSettings.devices)/\(try await api.beamsDevice(Self.own))"
      let claims = BeamsSettings.claims("jane@x.y")
      let bad = [
        BeamsSettings.token(claims, secret: BeamsSettings.secret.lowercased()),
        BeamsSettings.token(claims, header: #"{"alg":"none"}"#),
        BeamsSettings.token(claims.replacing("4102444800", with: "1600000000")),
        BeamsSettings.token(claims.replacing("beef", with: "bee0")), "a.b.c",
      ]
      for text in bad {
        #expect([401, 403].contains(try await api.beams("PUT", mallory + "/user", bearer: text).status))
      }
      let twice = try await api.call(
        "PUT", mallory + "/user", key: token("jane@x.y"), fields: ["Authorization: Bearer \(token("eve"))"])
      #expect(twice.status == 400)
      #expect(try await api.beams("PUT", jane + "/user", bearer: token("mallory")).status == 400)
      #expect(try await api.reached(user: "jane@x.y", beams: true) == [Self.victim])
    }
  }

  @Test("what a key or a token proved is not shown to who asks for the user")
  func disclosure() async throws {
    try await withJane { api, _ in
      #expect(try await api.call("GET", "/v1/user/jane@x.y").status == 404)
      let said = #"{"bundle-id":"\#(LocalAPI.topic)","device-token":"\#(Self.own)","name":"x","admin":"True"}"#
      _ = try await api.call("PUT", "/v1/user/jane@x.y", body: said)

      let shown = try await api.call("GET", "/v1/user/jane@x.y").json()
      #expect(shown["device-tokens"]?.array?.compactMap(\.string) == [Self.own])
      #expect(shown["admin"]?.string == "False")
    }
  }

  @Test("the same token at another instance is another name of the device, without its user token")
  func otherInstance() async throws {
    let two = """
      { "beams": [
        { "instance_id": "\(BeamsSettings.instance)", "secret_key": "\(BeamsSettings.secret)", "topics": ["\(LocalAPI.topic)"] },
        { "instance_id": "11111111-0000-4000-8000-00000000beef", "secret_key": "another secret key"
          , "topics": ["com.example.other"] }] }
      """.replacing("another secret key", with: "another-secret-key")
    try await withJane(settings: two) { api, jane in
      let other = jane.replacing(BeamsSettings.instance, with: "11111111-0000-4000-8000-00000000beef")
      for method in ["GET", "DELETE"] { _ = try await api.beams(method, other) }
      #expect(try await api.beams("GET", other).status == 404)
      #expect(try await api.beams("DELETE", "\(other)/interests/\(Self.interest)").status == 404)
      let register = try await api.beams(
        "POST", other.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" },
        #"{"token":"\#(Self.victim)","bundleIdentifier":"\#(LocalAPI.topic)"}"#)
      #expect(register.status == 400)
      let user = try await api.beams(
        "DELETE", "/customer_api/v1/instances/11111111-0000-4000-8000-00000000beef/users/jane@x.y",
        bearer: "another-secret-key")
      #expect(user.status == 200)
      #expect(try await api.reached(interest: Self.interest) == [Self.victim])
    }
  }
}

extension LocalAPI {
  /// The tokens that a publish to an interest reaches.
  func reached(interest: String) async throws -> [String] {
    try await reached(BeamsSettings.publishes, #""interests":["\#(interest)"]"#)
  }

  /// The tokens that a publish to a user reaches, by Beams or by the backend's own interface.
  func reached(user: String, beams: Bool) async throws -> [String] {
    if beams { return try await reached(BeamsSettings.publishes + "/users", #""users":["\#(user)"]"#) }
    let body =
      #"{"topic":"\#(Self.topic)","target":{"users":["\#(user)"]},"payload":{"aps":{"alert":"x"}}}"#
    return try await reached(try await call("POST", "/v1/notifications", key: try await key(), body: body))
  }

  private func reached(_ path: String, _ audience: String) async throws -> [String] {
    try await reached(
      try await beams("POST", path, #"{\#(audience),"apns":{"aps":{"alert":"x"}}}"#, bearer: BeamsSettings.secret))
  }

  /// Walks the newest notification as a worker does.
  private func reached(_ reply: HTTPReply) async throws -> [String] {
    guard [200, 202].contains(reply.status) else { throw SupportError("not published: \(reply.text)") }
    guard let status = try await store.notifications(NotificationQuery(), before: nil, limit: 1).notifications.first,
      let notification = try await store.notification(status.id)
    else { throw SupportError("nothing was stored") }
    let target = notification.target
    var sources: [WalkSource] = target.interests.map { .interest($0) }
    if !target.users.isEmpty { sources.append(.users(target.users, unverifiedToo: target.reachesUnverifiedUsers)) }
    let credentials = try await store.credentials().map(\.id)
    var tokens: Set<String> = []
    for source in sources {
      let window = try await store.read([
        .walk(
          WalkRequest(
            source: source, after: DeviceID(0), hi: .upperBound, sequenceLimit: DeviceID.sequenceMask,
            credentials: credentials, limit: 100))
      ])[0]
      let all = try await devices()
      tokens.formUnion(window.ids.compactMap { id in all.first { $0.id == id }?.token.text })
    }
    return tokens.sorted()
  }
}
