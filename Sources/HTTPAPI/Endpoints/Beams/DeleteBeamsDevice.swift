/// `DELETE /device_api/…/devices/apns/{device}`: the app stops.
enum DeleteBeamsDevice {
  static let route = Route.app(
    .delete, "/device_api/v1/instances/{instance}/devices/apns/{device}", .beamsDevice,
    "Removes a device with its interests.", answers: [RouteAnswer(200, "It is gone, or never was.")], refusals: [404]
  ) { call in
    _ = try await call.context.store.removeBeamsDevice(try call.beamsDeviceID())
    return .ok
  }
}
