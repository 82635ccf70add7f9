/// `GET /v1/notifications/{id}`: where a notification stands.
enum GetNotification {
  static let route = Route(
    .get, "/v1/notifications/{id}", .backend, .key(.read),
    "Shows a notification's state and how many devices have which outcome.",
    answers: [RouteAnswer(200, "The notification.", .notificationStatus)], refusals: [404]
  ) { call in
    let status = try await call.notification()
    return .json { status.write(to: &$0) }
  }
}
