/// `DELETE /v1/devices/{token}/interests/{name}`: unsubscribes a device.
enum DeleteDeviceInterest {
  static let route = Route(
    .delete, "/v1/devices/{token}/interests/{name}", .backend, .key(.devices),
    "Unsubscribes a device from an interest.", query: [.topic, .environment],
    answers: [RouteAnswer(204, "Not subscribed any more.")], refusals: [404, 422]
  ) { call in try await PutDeviceInterest.set(call, subscribed: false) }
}
