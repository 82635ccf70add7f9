/// `DELETE /v1/notifications/{id}`: cancels what is not handed to a connection yet.
enum DeleteNotification {
  static let route = Route(
    .delete, "/v1/notifications/{id}", .backend, .key(.send),
    "Cancels what is not handed to a connection yet; pushes on their way still get their receipts.",
    answers: [RouteAnswer(200, "Canceled.", .canceled)], refusals: [404, 409]
  ) { call in
    let id = try await call.notification().id
    guard try await call.context.store.cancel(id) == true else {
      throw Problem(.conflict, "the notification is final already; nothing was canceled")
    }
    guard let status = try await call.context.store.status(id) else {
      throw Problem(.notFound, "the notification is gone: its retention is over")
    }
    return .json {
      $0.member("id", id.description)
      $0.member("state", status.state.rawValue)
      $0.name("counts")
      status.counts.write(to: &$0)
    }
  }
}
