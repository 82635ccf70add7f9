import PushCore

/// `DELETE /v1/users/{id}`: forgets a user.
enum DeleteUser {
  static let route = Route(
    .delete, "/v1/users/{id}", .backend, .key(.devices),
    "Forgets a user: removes their devices in all apps that the key is for.",
    answers: [RouteAnswer(204, "Nothing of the user is left, or ever was.")], refusals: [422]
  ) { call in
    let user = call.parameter("id")
    if let detail = NotificationLimits.fault(inUserID: user) { throw Problem([NotificationFinding("id", detail)]) }
    _ = try await call.context.store.removeUser(user, topics: call.key?.topics)
    return .noContent
  }
}
