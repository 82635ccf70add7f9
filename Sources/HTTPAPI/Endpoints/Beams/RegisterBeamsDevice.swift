import Operations
import PushCore

/// `POST /device_api/…/devices/apns`: registers a device; the same token has the same id again, and its interests.
enum RegisterBeamsDevice {
  static let route = Route.app(
    .post, "/device_api/v1/instances/{instance}/devices/apns", .beamsDevice,
    "Registers a device of a Beams app. The same token gets the same id, with the interests that it has.",
    body: .beamsRegistration, answers: [RouteAnswer(200, "The device.", .document)], refusals: [404], run: run)

  private static func run(_ call: Call) async throws -> Answer {
    let instance = try call.instance()
    let body = try call.beamsObject()
    guard let text = body["token"]?.string, !text.isEmpty else { throw BeamsError.badRequest("token is required") }
    guard let bundleID = body["bundleIdentifier"]?.string else {
      throw BeamsError.badRequest("bundleIdentifier is required")
    }
    let registration = DeviceRegistration(
      topic: try topic(bundleID, instance, call),
      environment: Environment(name: instance.environment.rawValue) ?? .production, token: try call.appToken(text),
      otherEnvironment: .staysThere)
    let metadata = try body["metadata"].map(call.metadata)
    let candidate = BeamsDeviceID(instance: instance.id, id: "apns-\(UUIDText.random())")
    let device = try await call.knowing(registration.topic) { () async throws(StoreError) in
      try await call.context.store.register(candidate, device: registration, metadata: metadata)
    }
    return .json {
      $0.member("id", device.id)
      $0.member("initialInterestSet", device.interests)
    }
  }

  /// The app of a bundle id; an app that has none is the instance's only one.
  private static func topic(
    _ bundleID: String, _ instance: Configuration.BeamsInstance, _ call: Call
  ) throws -> String {
    let isUnnamed = ["", "missing-bundle-id"].contains(bundleID)
    let topic = isUnnamed && instance.topics.count == 1 ? instance.topics[0] : bundleID
    guard instance.topics.contains(topic), call.context.apps.app(for: topic) != nil else {
      throw BeamsError.badRequest("bundleIdentifier is none of this instance's apps")
    }
    return topic
  }
}
