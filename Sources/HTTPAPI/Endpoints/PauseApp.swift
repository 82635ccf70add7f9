import PushCore

/// `POST /v1/apps/{topic}/pause` and `/resume`.
enum PauseApp {
  static let pause = Route(
    .post, "/v1/apps/{topic}/pause", .backend, .key(.apps),
    "Stops sending for an app, all its topics; its notifications wait, uncounted.",
    answers: [RouteAnswer(200, "Paused.", .apps)], refusals: [404]
  ) { call in
    try await change(call) { try await call.context.store.hold($0, reason: Credential.pausedByOperator) }
  }

  static let resume = Route(
    .post, "/v1/apps/{topic}/resume", .backend, .key(.apps),
    "Sends again for an app that was paused, by an operator or because APNs refused its credential.",
    answers: [RouteAnswer(200, "Resumed.", .apps)], refusals: [404]
  ) { call in try await change(call) { try await call.context.store.resume($0) } }

  private static func change(_ call: Call, _ act: ([CredentialID]) async throws -> Void) async throws -> Answer {
    let topic = call.parameter("topic")
    try call.require(topic: topic)
    let ids = try await credentials(call, topic).map(\.id)
    guard !ids.isEmpty else { throw Problem(.notFound, "no app has this topic") }
    try await act(ids)
    return ListApps.answer(try await credentials(call, topic))
  }

  private static func credentials(_ call: Call, _ topic: String) async throws -> [Credential] {
    let app = call.context.apps.appTopic(of: topic)
    return try await call.context.store.credentials().filter { call.context.apps.appTopic(of: $0.topic) == app }
  }
}
