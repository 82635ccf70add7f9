/// `PUT /device_api/…/devices/apns/{device}/metadata`: the SDK says which versions it runs on.
enum PutBeamsMetadata {
  static let route = Route.app(
    .put, "/device_api/v1/instances/{instance}/devices/apns/{device}/metadata", .beamsDevice,
    "Replaces what the SDK says about itself.", body: .document, answers: [RouteAnswer(200, "Replaced.")],
    refusals: [404]
  ) { call in
    let id = try call.beamsDeviceID()
    let metadata = try call.metadata(try call.beamsObject())
    guard try await call.context.store.setMetadata(metadata, of: id) else { throw BeamsError.unknownDevice }
    return .ok
  }
}
