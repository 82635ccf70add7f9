import Operations
import PushCore

/// `POST /v1/notifications`: enqueues one notification; durable before the answer.
enum PostNotification {
  static let route = Route(
    .post, "/v1/notifications", .backend, .key(.send),
    "Enqueues a notification. It is on disk before the answer. With Idempotency-Key (1 to 255 bytes, kept 24 hours for each API key) a repeat enqueues nothing.",
    body: .notification,
    answers: [
      RouteAnswer(202, "Enqueued.", .enqueued),
      RouteAnswer(200, "The same was enqueued under this Idempotency-Key before.", .enqueued),
    ], refusals: [409, 422], run: run)

  private static func run(_ call: Call) async throws -> Answer {
    let request = try NotificationRequest(json: call.request.body)
    let now = call.context.clocks.wallTime()
    let environment = request.topic.flatMap { call.context.apps.app(for: $0) }.flatMap {
      Environment(name: $0.environment.rawValue)
    }
    // What the key may not do is said before what is wrong with the rest.
    if let topic = request.topic { try call.require(topic: topic) }
    var publication = try request.publication(
      now: now,
      defaults: NotificationDefaults(
        environment: environment ?? .production,
        reachesUnverifiedUsers: call.context.policy.reachesUnverifiedUsers)
    ).publication
    publication.idempotencyKey = try idempotencyKey(call)
    let (store, metrics, clocks) = (call.context.store, call.context.metrics, call.context.clocks)
    let began = clocks.monotonicTime()
    let checked = publication
    let result = try await call.knowing(publication.topic) { () async throws(StoreError) in
      try await store.publish(checked)
    }
    metrics.record(clocks.monotonicTime().since(began), of: .enqueue)
    switch result {
    case .stored(let id, _):
      metrics.add(to: .notificationsEnqueued)
      let isAhead = publication.sendAt.map { $0 > now } ?? false
      return answer(202, id, isAhead ? .scheduled : .queued)
    case .repeated(let id): return answer(200, id, try await store.status(id)?.state ?? .queued)
    case .conflict(let id):
      throw Problem(
        .conflict, "the Idempotency-Key was used for another body (notification \(id)); nothing was enqueued")
    }
  }

  private static func idempotencyKey(_ call: Call) throws -> IdempotencyKey? {
    guard call.request.head.count(of: "idempotency-key") < 2 else {
      throw Problem(.malformedRequest, "Idempotency-Key is there more than once")
    }
    guard let text = call.request.head.field("idempotency-key") else { return nil }
    guard (1...255).contains(text.utf8.count) else {
      throw Problem(.malformedRequest, "Idempotency-Key takes 1 to 255 bytes")
    }
    return IdempotencyKey(
      scope: call.key?.id.rawValue ?? 0, key: text, requestHash: call.context.sha256(call.request.body))
  }

  private static func answer(_ status: Int, _ id: NotificationID, _ state: NotificationState) -> Answer {
    .json(status) {
      $0.member("id", id.description)
      $0.member("state", state.rawValue)
    }
  }
}
