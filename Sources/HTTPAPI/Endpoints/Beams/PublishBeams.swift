import Operations
import PushCore

/// `POST /publish_api/…/publishes/interests` (also without the last part) and `/users`.
enum PublishBeams {
  static let routes = [
    route("/interests", .interests, "Sends a push to the devices of up to 100 interests; each device gets one."),
    route("", .interests, "The same, as older SDKs call it."),
    route("/users", .users, "Sends a push to the devices of up to 1000 users."),
  ]

  private static func route(_ end: String, _ audience: BeamsPublish.Audience, _ summary: String) -> Route {
    .beamsBackend(
      .post, "/publish_api/v1/instances/{instance}/publishes" + end, "\(summary) It is on disk before the answer.",
      body: audience == .users ? .beamsUserPublish : .beamsInterestPublish,
      answers: [RouteAnswer(200, "Enqueued.", .document)], refusals: [422]
    ) { call, instance in
      try call.checkContentType()
      let publish = try BeamsPublish(call.request.body, to: audience, webhooks: call.context.policy.webhooks)
      let publishID = "pubid-\(UUIDText.random())"
      let publications = try publications(publish, publishID, instance, call)
      let began = call.context.clocks.monotonicTime()
      _ = try await store(publications, publish.webhook, publishID, instance, call)
      call.context.metrics.record(call.context.clocks.monotonicTime().since(began), of: .enqueue)
      call.context.metrics.add(to: .notificationsEnqueued)
      return .json { $0.member("publishId", publishID) }
    }
  }

  /// One for each app of the instance: an interest belongs to an app.
  private static func publications(
    _ publish: BeamsPublish, _ publishID: String, _ instance: Configuration.BeamsInstance, _ call: Call
  ) throws -> [Publication] {
    let bytes = publish.payload.bytes(publishID: publishID, instance: instance.id)
    var request = NotificationRequest()
    request.interests = publish.target.interests
    request.users = publish.target.users
    request.payload = bytes
    request.collapseID = publish.payload.collapseID
    request.expiration = publish.payload.expiration
    // A push that only wakes the app has one priority, whatever is asked for. What is wrong with a payload is said below.
    let isBackground = (try? Payload(bytes))?.inferredPushType == .background
    request.priority = isBackground ? nil : publish.payload.priority
    let environment = Environment(name: instance.environment.rawValue) ?? .production
    let defaults = NotificationDefaults(
      environment: environment, reachesUnverifiedUsers: call.context.policy.reachesUnverifiedUsers)
    return try instance.topics.map { topic in
      request.topic = topic
      do throws(NotificationFaults) {
        return try request.publication(now: call.context.clocks.wallTime(), defaults: defaults).publication
      } catch {
        throw BeamsError(error)
      }
    }
  }

  private static func store(
    _ publications: [Publication], _ webhook: Webhook?, _ publishID: String, _ instance: Configuration.BeamsInstance,
    _ call: Call
  ) async throws -> [NotificationID] {
    let store = call.context.store
    do {
      return try await store.publish(publications, publishID: publishID, instance: instance.id, webhook: webhook)
    } catch {
      guard error.code == .unknownTopic else { throw error }
    }
    for topic in instance.topics { try await call.context.bind(topic) }
    return try await store.publish(publications, publishID: publishID, instance: instance.id, webhook: webhook)
  }
}

extension BeamsError {
  /// The first fault of a push, at its place in the publish.
  fileprivate init(_ faults: NotificationFaults) {
    let finding = faults.findings.first ?? NotificationFinding("payload", "it cannot be sent")
    let path =
      finding.path.hasPrefix("payload")
      ? "apns" + finding.path.dropFirst("payload".count)
      : finding.path.hasPrefix("target") ? String(finding.path.dropFirst("target.".count)) : "apns.\(finding.path)"
    self = .unprocessable(path, finding.detail)
  }
}

extension Route {
  /// A route of the surface `beams`, for who has the secret key of the path's instance.
  static func beamsBackend(
    _ method: Method, _ path: String, _ summary: String, body: SchemaName? = nil, answers: [RouteAnswer],
    refusals: [Int] = [], run: @escaping @Sendable (Call, Configuration.BeamsInstance) async throws -> Answer
  ) -> Route {
    var route = Route(
      method, path, .beams, .open, summary, body: body, answers: answers, refusals: [401, 404, 429] + refusals
    ) { call in
      try await RefusalForm.beams.refusing(call) { try await run(call, try call.provedInstance()) }
    }
    route.form = .beams
    return route
  }
}
