/// `PUT /v1/devices/{token}/interests/{name}`: subscribes a device.
enum PutDeviceInterest {
  static let route = Route(
    .put, "/v1/devices/{token}/interests/{name}", .backend, .key(.devices),
    "Subscribes a device to an interest, also to a protected one.", query: [.topic, .environment],
    answers: [RouteAnswer(204, "Subscribed.")], refusals: [404, 422]
  ) { call in try await set(call, subscribed: true) }

  /// Subscribes or unsubscribes.
  static func set(_ call: Call, subscribed: Bool) async throws -> Answer {
    let interest = try call.interest()
    let token = try call.deviceToken()
    let isRegistered = try await call.context.store.setSubscription(
      topic: try call.topic(call.query["topic"]), environment: try call.environment(call.query["environment"]),
      token: token, interest: interest, subscribed: subscribed)
    guard isRegistered else { throw Call.noDevice }
    return .noContent
  }
}
