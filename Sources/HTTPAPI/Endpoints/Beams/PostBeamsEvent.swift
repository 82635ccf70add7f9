import Operations
import PushCore

/// `POST /reporting_api/…/events`: an app reports that a push woke it, or that a person opened it.
enum PostBeamsEvent {
  static let route = Route.app(
    .post, "/reporting_api/v2/instances/{instance}/events", .beamsDevice,
    "Notes in the receipts of a publish that a push woke its app or was opened. Reports of unknown pushes change nothing.",
    body: .beamsEvent, answers: [RouteAnswer(200, "Taken.")], refusals: [404], run: run)

  private static func run(_ call: Call) async throws -> Answer {
    guard UUIDText.isUUID(call.parameter("instance")) else { throw BeamsError.badRequest("the instance id is no UUID") }
    let instance = try call.instance()
    let body = try call.beamsObject()
    guard let event = body["event"]?.string, let publishID = body["publishId"]?.string,
      let device = body["deviceId"]?.string, let seconds = body["timestampSecs"]?.integer
    else { throw BeamsError.badRequest("event, publishId, deviceId and timestampSecs are required") }
    let mark: PushMark? =
      switch event.lowercased() {
      case "delivery": .delivered
      case "open": .opened
      default: nil
      }
    guard let mark else { throw BeamsError.badRequest("event must be Delivery or Open") }
    // A phone's clock may be wrong: nothing was reported later than now.
    let now = call.context.clocks.wallTime()
    let at = UnixMilliseconds(min(max(seconds, 0), now.seconds) * 1000)
    try await call.context.store.mark(
      mark, at: at, publishID: publishID, by: BeamsDeviceID(instance: instance.id, id: device))
    return .ok
  }
}
