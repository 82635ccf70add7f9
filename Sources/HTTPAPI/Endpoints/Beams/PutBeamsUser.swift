import PushCore

/// `PUT /device_api/…/devices/apns/{device}/user`: binds a device to the user that a signed token proves.
enum PutBeamsUser {
  static let route = Route.app(
    .put, "/device_api/v1/instances/{instance}/devices/apns/{device}/user", .beamsDevice,
    "Binds a device to the user of a user token (Authorization: Bearer, a JWT signed with the secret key).",
    answers: [RouteAnswer(200, "Bound, or bound before.")], refusals: [401, 403, 404]
  ) { call in
    let id = try call.beamsDeviceID()
    guard let text = try call.bearer() else { throw BeamsError(401, "Unauthorized", "Authorization header missing") }
    let token = try UserToken(text, instance: try call.instance(), now: call.context.clocks.wallTime())
    switch try await call.context.store.bind(id, to: token.user) {
    case .bound: return .ok
    case .noDevice: throw BeamsError.unknownDevice
    case .otherUser: throw BeamsError.badRequest("A User Id is already associated with this device.")
    case .tooManyDevices:
      throw BeamsError.badRequest("User has reached the maximum of \(BeamsDeviceID.devicesOfUser) devices")
    }
  }
}
