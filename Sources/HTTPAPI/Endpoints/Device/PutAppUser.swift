import JSON
import Operations
import PushCore

/// `PUT /v1/user/{id}`: an app says who uses it. Nobody has proved it: the binding is unverified.
enum PutAppUser {
  static let route = Route.app(
    .put, "/v1/user/{id}", .problem,
    "An app names its user and its device token. The token moves to this user; the binding is unverified.",
    body: .appUserRegistration,
    answers: [
      RouteAnswer(201, "A new user.", .text), RouteAnswer(200, "A known user.", .text),
      RouteAnswer(400, "A member is missing: shows what was read. Or it is refused.", .document),
    ], run: run)

  /// The app hangs when it reads back the name that it shows when it has none.
  private static let unusableName = "no name provided"
  private static let nameLimitBytes = 255

  private static func run(_ call: Call) async throws -> Answer {
    let body = try call.object()
    let given = ["bundle-id", "device-token", "name"].map { body[$0]?.string }
    guard let topic = given[0], let token = given[1], let name = given[2], !topic.isEmpty, !token.isEmpty,
      !name.isEmpty, name.utf8.count <= nameLimitBytes
    else { return incomplete(given) }
    let user = call.parameter("id")
    if let fault = NotificationLimits.fault(inUserID: user) { throw Problem(.malformedRequest, fault) }
    let registration = DeviceRegistration(
      topic: try call.appTopic(topic), environment: call.defaultEnvironment, token: try call.appToken(token),
      user: .set(user), otherEnvironment: .staysThere)
    let appUser = AppUser(id: user, name: name == unusableName ? "unnamed" : name)
    let isNew = try await call.knowing(registration.topic) { () async throws(StoreError) in
      try await call.context.store.register(appUser, device: registration)
    }
    return isNew ? Call.text(201, "Created user \(user)") : Call.text(200, "User \(user) updated")
  }

  /// What was read, so that an app's author sees what is missing.
  private static func incomplete(_ given: [String?]) -> Answer {
    .json(400) {
      $0.member("bundle-id", given[0])
      $0.member("device-token", given[1])
      $0.member("name", given[2])
    }
  }
}
