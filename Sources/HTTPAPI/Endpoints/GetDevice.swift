/// `GET /v1/devices/{token}`: one registered device.
enum GetDevice {
  static let route = Route(
    .get, "/v1/devices/{token}", .backend, .key(.read),
    "Shows a registered device; of two environments the one that registered last.",
    query: [.topic, .environment], answers: [RouteAnswer(200, "The device.", .device)],
    refusals: [404, 422]
  ) { call in
    guard let device = try await call.devices().first else { throw Call.noDevice }
    return call.answer(200, device)
  }
}
