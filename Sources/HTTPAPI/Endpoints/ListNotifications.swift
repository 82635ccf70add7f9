import PushCore

/// `GET /v1/notifications`: newest first.
enum ListNotifications {
  static let route = Route(
    .get, "/v1/notifications", .backend, .key(.read),
    "Lists notifications, newest first. A page can be short, or empty, although more follow: next_cursor tells.",
    query: [
      QueryParameter("state", "Only in this state.", oneOf: NotificationState.allCases.map(\.rawValue)),
      .limit,
      .cursor,
    ],
    answers: [RouteAnswer(200, "A page.", .notificationList)], run: run)

  private static func run(_ call: Call) async throws -> Answer {
    var query = NotificationQuery(topics: call.key?.topics)
    if let name = call.query["state"] {
      guard let state = NotificationState(rawValue: name) else {
        let names = NotificationState.allCases.map(\.rawValue)
        throw Problem(.malformedRequest, "state must be one of \(names.joined(separator: ", "))")
      }
      query.state = state
    }
    let before = try call.query["cursor"].map {
      NotificationID(try Cursor($0, of: .notifications, count: 1).place[0])
    }
    let page = try await call.context.store.notifications(query, before: before, limit: call.limit())
    return .json { writer in
      writer.name("notifications")
      writer.array { array in for status in page.notifications { array.object { status.write(to: &$0) } } }
      writer.member("next_cursor", page.next.map { Cursor(.notifications, $0.rawValue).text })
    }
  }
}
