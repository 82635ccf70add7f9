import Operations
import PushCore

/// `PUT /v1/devices/{token}`: registers a device or refreshes it.
enum PutDevice {
  static let route = {
    var route = Route(
      .put, "/v1/devices/{token}", .backend, .key(.devices),
      "Registers a device, or refreshes it: what is absent stays, what is given replaces; another user than before loses interests that are not given.",
      body: .deviceChanges,
      answers: [RouteAnswer(201, "It was not registered before.", .device), RouteAnswer(200, "Refreshed.", .device)],
      refusals: [409, 422], run: run)
    route.bodyIsOptional = true
    return route
  }()

  private static let names = ["topic", "environment", "user", "language", "interests"]

  private static func run(_ call: Call) async throws -> Answer {
    let token = try call.deviceToken()
    var reader = try ObjectReader(call.request.body, names: names)
    let given = (topic: reader.string("topic"), environment: reader.string("environment"))
    if let name = given.environment, Environment(name: name) == nil {
      reader.fault("environment", "it must be production or sandbox")
    }
    let user = reader.change("user", NotificationLimits.fault(inUserID:))
    let language = reader.change("language", LanguageTag.fault(in:))
    let interests = reader.changes("interests", InterestName.fault(in:))
    try reader.check()
    let topic = try call.topic(given.topic)
    let environment = try await environment(call, given.environment, token, topic)
    let isUser = if case .set(let user) = user { user != nil } else { false }
    let registration = DeviceRegistration(
      topic: topic, environment: environment, token: token, user: user, userIsVerified: isUser, language: language,
      interests: interests)
    let store = call.context.store
    let results = try await call.knowing(topic) { () async throws(StoreError) in
      try await store.register([registration])
    }
    let isNew = if case .added = results.first { true } else { false }
    guard let device = try await registered(store, token, topic).first(where: { $0.environment == environment }) else {
      throw Problem(.conflict, "the device was removed while it registered; register it again")
    }
    return call.answer(isNew ? 201 : 200, device)
  }

  /// The one that is said, else that of the registered device, else the app's.
  private static func environment(
    _ call: Call, _ name: String?, _ token: DeviceToken, _ topic: String
  ) async throws -> Environment {
    if let environment = try call.environment(name) { return environment }
    let present = try await registered(call.context.store, token, topic)
    if present.count == 1 { return present[0].environment }
    return call.context.apps.app(for: topic).flatMap { Environment(name: $0.environment.rawValue) } ?? .production
  }

  private static func registered(
    _ store: any FullStore, _ token: DeviceToken, _ topic: String
  ) async throws -> [Device] {
    var query = DeviceQuery()
    query.token = token
    query.topic = topic
    return try await store.devices(query, after: DeviceID(0), limit: 2)
  }
}
