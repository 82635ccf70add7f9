import PushCore

/// `GET /device_api/…/devices/apns/{device}/interests`: what a device asked for, also what is not granted yet.
enum ListBeamsInterests {
  static let route = Route.app(
    .get, "/device_api/v1/instances/{instance}/devices/apns/{device}/interests", .beamsDevice,
    "Lists the interests that a device asked for.",
    query: [
      QueryParameter(
        "limit", "How many at most, from 1 to 100; 100 when not said.",
        schema: #"{"type":"integer","minimum":1,"maximum":100}"#), .cursor,
    ],
    answers: [RouteAnswer(200, "A page.", .document)], refusals: [404]
  ) { call in
    let id = try call.beamsDeviceID()
    let limit = call.query["limit"].map { Int($0) ?? 0 } ?? 100
    guard (1...100).contains(limit) else { throw BeamsError.badRequest("limit must be from 1 to 100") }
    let after = call.query["cursor"]
    if let after, InterestName.fault(in: after) != nil { throw BeamsError.badRequest("cursor is invalid") }
    guard let device = try await call.context.store.beamsDevice(id) else { throw BeamsError.unknownDevice }
    let rest = device.interests.filter { name in after.map { $0.utf8.lexicographicallyPrecedes(name.utf8) } ?? true }
    let page = Array(rest.prefix(limit))
    return .json { writer in
      writer.member("interests", page)
      writer.name("responseMetadata")
      // The last name is where the next page goes on; absent at the end.
      writer.object { if rest.count > page.count, let last = page.last { $0.member("nextCursor", last) } }
    }
  }
}
