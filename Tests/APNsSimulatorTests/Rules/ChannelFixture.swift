@testable import APNsSimulator

/// An app with two channels in production and one in the sandbox.
enum ChannelFixture {
  static let app = ChannelStore.App(bundleID: "com.example.app", environment: .production)
  static let sandboxApp = ChannelStore.App(bundleID: "com.example.app", environment: .development)
  static let recent = "cmVjZW50"
  static let storeless = "bm9uZQ=="
  static let sandbox = "c2FuZGJveA=="

  static func rules() throws -> RequestRules {
    var rules = try SimulatorFixture.rules()
    rules.channels = ChannelStore([
      app: [recent: .mostRecent, storeless: .none], sandboxApp: [sandbox: .mostRecent],
    ])
    return rules
  }
}

extension PushRequest {
  /// A broadcast to ``ChannelFixture/recent`` that breaks no rule and gives no warning, changed like ``sample``.
  static func broadcast(
    method: String = "POST", path: String = "/4/broadcasts/apps/com.example.app", _ changes: [String: String?] = [:],
    body: String = #"{"aps":{"timestamp":1767225600,"event":"update","content-state":{}}}"#,
    environment: Environment = .production
  ) -> PushRequest {
    let usual = [
      "authorization": "bearer \(SimulatorFixture.providerToken)", "apns-channel-id": ChannelFixture.recent,
      "apns-push-type": "liveactivity", "apns-expiration": String(SimulatorFixture.issuedAt + 3600),
      "apns-priority": "10", "apns-request-id": "123e4567-e89b-12d3-a456-4266554400a0",
    ]
    return PushRequest(
      role: ListenerRole(environment), method: method, scheme: "https", path: path, fields: fields(usual, changes),
      body: Array(body.utf8))
  }

  /// A call about channels that breaks no rule and gives no warning, changed like ``sample``.
  static func call(
    _ method: String, path: String = "/1/apps/com.example.app/channels", _ changes: [String: String?] = [:],
    body: String = "", environment: Environment = .production
  ) -> PushRequest {
    let usual = [
      "authorization": "bearer \(SimulatorFixture.providerToken)",
      "apns-request-id": "123e4567-e89b-12d3-a456-4266554400a0",
    ]
    return PushRequest(
      role: ListenerRole(environment, managesChannels: true), method: method, scheme: "https", path: path,
      fields: fields(usual, changes), body: Array(body.utf8))
  }

  /// The creation of a channel.
  static func create(
    _ body: String = #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#, environment: Environment = .production
  ) -> PushRequest {
    call("POST", body: body, environment: environment)
  }

  private static func fields(_ usual: [String: String], _ changes: [String: String?]) -> [Field] {
    usual.merging(changes.compactMapValues(\.self)) { $1 }.filter { changes[$0.key, default: ""] != nil }
      .sorted { $0.key < $1.key }.map { Field($0.key, $0.value) }
  }
}
