import Operations
import PushCore

/// `GET /v1/devices?state=retired`: the feed of retired devices.
enum ListDevices {
  static let route = Route(
    .get, "/v1/devices", .backend, .key(.read),
    "The feed of devices that APNs called gone, in the order of their retirement. Ask again with the time of the last one as since to get what came after.",
    query: [
      QueryParameter("state", "Must be given.", oneOf: ["retired"]),
      QueryParameter(
        "since", "Only those that retired at this time or later.", schema: #"{"type":"string","format":"date-time"}"#),
      .limit, .cursor,
    ],
    answers: [RouteAnswer(200, "A page. Interests are not shown.", .deviceList)], run: run)

  private static func run(_ call: Call) async throws -> Answer {
    guard call.query["state"] == "retired" else {
      throw Problem(.malformedRequest, "state must be retired: other listings are not in this version")
    }
    let limit = try call.limit()
    let devices = try await call.context.store.retiredDevices(
      topics: call.key?.topics, after: try place(call), limit: limit)
    // A full page may be the last: then the next one is empty.
    let next = devices.count == limit ? devices.last : nil
    return .json { writer in
      writer.name("devices")
      writer.array { array in
        for device in devices {
          array.object { device.write(to: &$0) { call.context.reasonText($0, nil) } }
        }
      }
      writer.member(
        "next_cursor", next.map { Cursor(.retirements, $0.retiredAt?.value ?? 0, $0.id.rawValue).text })
    }
  }

  private static func place(_ call: Call) throws -> RetirementPlace {
    if let text = call.query["cursor"] {
      let place = try Cursor(text, of: .retirements, count: 2).place
      return RetirementPlace(at: UnixMilliseconds(place[0]), device: DeviceID(place[1]))
    }
    guard let text = call.query["since"] else { return RetirementPlace(at: UnixMilliseconds(0), device: DeviceID(0)) }
    do {
      return RetirementPlace(at: try RFC3339.parse(text), device: DeviceID(0))
    } catch {
      throw Problem(.malformedRequest, "since \(error)")
    }
  }
}
