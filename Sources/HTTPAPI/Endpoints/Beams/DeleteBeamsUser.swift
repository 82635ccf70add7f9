import PushCore

/// `DELETE /customer_api/…/users/{user}`, and `/user_api/…` as one SDK spells it: forgets a user and their devices.
enum DeleteBeamsUser {
  static let routes = ["customer_api", "user_api"].map { api in
    var route = Route.beamsBackend(
      .delete, "/\(api)/v1/instances/{instance}/users/{user}", "Forgets a user and removes their devices.",
      answers: [RouteAnswer(200, "Nothing of the user is left, or ever was.")]
    ) { call, instance in
      let user = call.parameter("user")
      if let detail = UserToken.fault(inUserID: user) { throw BeamsError.badRequest(detail) }
      let removed = try await call.context.store.removeUser(user, topics: instance.topics)
      // Some SDKs write a space as +, others a + as it is.
      if removed == 0, user.utf8.contains(UInt8(ascii: "+")) {
        let spaced = String(user.map { $0 == "+" ? " " : $0 })
        _ = try await call.context.store.removeUser(spaced, topics: instance.topics)
      }
      return .ok
    }
    // Some SDKs leave the slashes of a user id as they are.
    route.takesRest = true
    return route
  }
}
