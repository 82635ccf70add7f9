import PushCore

/// `GET /v1/user/{id}`: what apps said of a user; nothing that a key or a signed token proved is shown.
enum GetAppUser {
  static let route = Route.app(
    .get, "/v1/user/{id}", .problem, "Shows a user as apps registered them, with the device tokens that they named.",
    answers: [RouteAnswer(200, "The user.", .appUser), RouteAnswer(404, "Nobody registered as this user. No body.")],
    run: run)

  private static func run(_ call: Call) async throws -> Answer {
    // The app takes a JSON body of any status for a user, and crashes.
    guard let user = try await call.context.store.appUser(call.parameter("id")) else { return Answer(status: 404) }
    let tokens = try await tokens(call, of: user.id)
    return .json {
      // A text: the app crashes on a truth value. Nobody becomes one by registering.
      $0.member("admin", "False")
      $0.member("device-tokens", tokens)
      $0.member("name", user.name)
      $0.member("user-id", user.id)
    }
  }

  /// The tokens that were named for a user on this surface.
  static func tokens(_ call: Call, of user: String) async throws -> [String] {
    var query = DeviceQuery()
    query.user = user
    return try await call.tokens(query) { !$0.userIsVerified }
  }
}
