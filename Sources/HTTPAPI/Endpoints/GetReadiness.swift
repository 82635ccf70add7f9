import PushCore

/// `GET /readyz`: whether the relay can do its work.
enum GetReadiness {
  static let route = Route(
    .get, "/readyz", .operations, .open,
    "Tells whether the store can be reached and credentials are loaded; 503 with the reasons otherwise.",
    answers: [RouteAnswer(200, "Ready.", .readiness), RouteAnswer(503, "Not ready; the reasons say why.", .readiness)]
  ) { call in
    var reasons: [String] = []
    if call.context.apps.isEmpty { reasons.append("no app is configured") }
    do {
      if try await call.context.store.credentials().isEmpty { reasons.append("the store knows no credential") }
    } catch {
      // The details are for the log: this is read by anybody.
      call.context.logger.error("the store cannot be reached", ["error": .string("\(error)")])
      reasons.append("the store cannot be reached")
    }
    return .json(reasons.isEmpty ? 200 : 503) {
      $0.member("status", reasons.isEmpty ? "ready" : "not ready")
      $0.member("reasons", reasons)
    }
  }
}
