/// `GET /device_api/…/devices/apns/{device}`: a device as its SDK knows it.
enum GetBeamsDevice {
  static let route = Route.app(
    .get, "/device_api/v1/instances/{instance}/devices/apns/{device}", .beamsDevice,
    "Shows a device of a Beams app. Who knows its id may see and change it.",
    answers: [RouteAnswer(200, "The device.", .document)], refusals: [404]
  ) { call in
    guard let device = try await call.context.store.beamsDevice(try call.beamsDeviceID()) else {
      throw BeamsError.unknownDevice
    }
    return .json {
      $0.member("id", device.id)
      if let user = device.user { $0.member("userId", user) }
      $0.name("metadata")
      $0.raw(device.metadata ?? Array("{}".utf8))
    }
  }
}
