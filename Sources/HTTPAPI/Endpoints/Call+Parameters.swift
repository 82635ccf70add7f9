import Operations
import PushCore

/// What several endpoints read from a call.
extension Call {
  /// The text in the place of `{name}`.
  func parameter(_ name: String) -> String { parameters[name] ?? "" }

  /// The notification of `{id}`, of an app that the key is for.
  func notification() async throws -> NotificationStatus {
    guard let id = NotificationID(text: parameter("id")), let status = try await context.store.status(id) else {
      throw Problem(.notFound, "there is no notification with this id, or its retention is over")
    }
    try require(topic: status.topic)
    return status
  }

  /// Refuses a topic that the key is not for.
  func require(topic: String) throws {
    guard key?.allows(topic: topic) ?? true else {
      throw Problem(.forbidden, "the API key is not for this topic")
    }
  }

  /// `?limit=`.
  func limit() throws -> Int {
    guard let text = query["limit"] else { return 100 }
    guard let limit = Int(text), (1...1000).contains(limit) else {
      throw Problem(.malformedRequest, "limit must be a whole number from 1 to 1000")
    }
    return limit
  }

  /// The topic that is given, or the only configured one; its spelling is good and its app is configured.
  func topic(_ given: String?) throws -> String {
    guard let topic = given ?? context.apps.onlyTopic else {
      throw Problem([NotificationFinding("topic", "there is none; give the bundle id of the app")])
    }
    if let detail = TopicText.fault(in: topic) { throw Problem([NotificationFinding("topic", detail)]) }
    try require(topic: topic)
    guard context.apps.isEmpty || context.apps.app(for: topic) != nil else {
      throw Problem([NotificationFinding("topic", "no app has this topic; the relay's settings name the apps")])
    }
    return topic
  }

  /// The environment of that name; nil = not said.
  func environment(_ name: String?) throws -> Environment? {
    guard let name else { return nil }
    guard let environment = Environment(name: name) else {
      throw Problem([NotificationFinding("environment", "it must be production or sandbox")])
    }
    return environment
  }

  /// The device token of `{token}`.
  func deviceToken() throws -> DeviceToken {
    do {
      return try DeviceToken(parsing: parameter("token"))
    } catch {
      throw Problem([NotificationFinding("token", "\(error)")])
    }
  }

  /// The interest of `{name}`.
  func interest() throws -> String {
    let name = parameter("name")
    if let detail = InterestName.fault(in: name) { throw Problem([NotificationFinding("name", detail)]) }
    return name
  }

  /// The registered devices of `{token}` and `?topic=&environment=`, the one that registered last first.
  func devices() async throws -> [Device] {
    var query = DeviceQuery()
    query.token = try deviceToken()
    query.topic = try topic(self.query["topic"])
    let environment = try environment(self.query["environment"])
    let devices = try await context.store.devices(query, after: DeviceID(0), limit: 2)
    return devices.filter { environment == nil || $0.environment == environment }
      .sorted { $0.registeredAt > $1.registeredAt }
  }

  static let noDevice = Problem(.notFound, "no such device is registered for this topic")

  /// Runs a call of the store for a topic; one of a configured app that the store does not know yet is made known first.
  func knowing<Result>(_ topic: String, _ body: () async throws(StoreError) -> Result) async throws -> Result {
    do {
      return try await body()
    } catch {
      guard error.code == .unknownTopic, context.apps.app(for: topic) != nil else { throw error }
    }
    try await context.bind(topic)
    return try await body()
  }

  /// The answer that shows a device.
  func answer(_ status: Int, _ device: Device) -> Answer {
    .json(status) { writer in device.write(to: &writer) { context.reasonText($0, nil) } }
  }
}
