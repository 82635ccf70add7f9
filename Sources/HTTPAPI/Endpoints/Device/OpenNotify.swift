import Operations
import PushCore

/// A greeting to every device of the default app, for everybody, where the settings open `notify`.
enum OpenNotify {
  static let routes = ["/api/token/notify", "/token/notify"].map { path in
    Route.app(
      .post, path, .vapor, "Sends a greeting to every device of the default app.", opening: .notify,
      answers: [RouteAnswer(204, "Enqueued.")], run: run)
  }

  private static func run(_ call: Call) async throws -> Answer {
    var request = NotificationRequest()
    request.topic = try call.defaultTopic()
    request.everyone = true
    request.payload = Array(
      #"{"aps":{"alert":{"title":"Hello!","body":"How are you today?"},"sound":"default"}}"#.utf8)
    let publication = try request.publication(
      now: call.context.clocks.wallTime(), defaults: NotificationDefaults()
    ).publication
    _ = try await call.knowing(publication.topic) { () async throws(StoreError) in
      try await call.context.store.publish(publication)
    }
    call.context.metrics.add(to: .notificationsEnqueued)
    return .noContent
  }
}
