import PushCore

/// `PUT …/interests`, `POST` and `DELETE …/interests/{name}`: what a device asks for. Protected interests wait until they are granted.
enum ChangeBeamsInterests {
  private static let path = "/device_api/v1/instances/{instance}/devices/apns/{device}/interests"

  static let replace = Route.app(
    .put, path, .beamsDevice, "Replaces the interests of a device; protected ones wait until they are granted.",
    body: .interestSet, answers: [RouteAnswer(200, "Replaced.")], refusals: [404]
  ) { call in
    let id = try call.beamsDeviceID()
    let body = try call.beamsObject(limitBytes: Exchange.bodyLimitBytes)
    guard let elements = body["interests"]?.array else { throw BeamsError.badRequest("interests is required") }
    let names = try elements.map { try checked($0.string ?? "") }
    return try await change(call, id, .replace(call.context.policy.asked(names)))
  }

  static let add = Route.app(
    .post, path + "/{name}", .beamsDevice,
    "Subscribes a device to an interest; a protected one waits until it is granted.",
    answers: [RouteAnswer(200, "Subscribed, or asked for.")], refusals: [404]
  ) { call in
    let id = try call.beamsDeviceID()
    return try await change(call, id, .add(call.context.policy.asked([try checked(call.parameter("name"))])))
  }

  static let remove = Route.app(
    .delete, path + "/{name}", .beamsDevice, "Unsubscribes a device from an interest.",
    answers: [RouteAnswer(200, "It is not subscribed, or never was.")], refusals: [404]
  ) { call in
    let id = try call.beamsDeviceID()
    return try await change(call, id, .remove(try checked(call.parameter("name"))))
  }

  private static func checked(_ name: String) throws(BeamsError) -> String {
    guard InterestName.fault(in: name) == nil else { throw .badRequest("Invalid interest name") }
    return name
  }

  private static func change(_ call: Call, _ id: BeamsDeviceID, _ change: InterestChange) async throws -> Answer {
    switch try await call.context.store.change(change, of: id) {
    case .done: return .ok
    case .noDevice: throw BeamsError.unknownDevice
    case .tooMany: throw BeamsError.badRequest("Interest set too large")
    }
  }
}
