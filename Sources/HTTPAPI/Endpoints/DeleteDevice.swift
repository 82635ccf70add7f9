/// `DELETE /v1/devices/{token}`: removes a device with its subscriptions.
enum DeleteDevice {
  static let route = Route(
    .delete, "/v1/devices/{token}", .backend, .key(.devices), "Removes a device and its subscriptions.",
    query: [.topic, .environment], answers: [RouteAnswer(204, "Removed.")], refusals: [404, 422]
  ) { call in
    let token = try call.deviceToken()
    let topic = try call.topic(call.query["topic"])
    let environment = try call.environment(call.query["environment"])
    guard try await call.context.store.removeDevice(topic: topic, environment: environment, token: token) else {
      throw Call.noDevice
    }
    return .noContent
  }
}
