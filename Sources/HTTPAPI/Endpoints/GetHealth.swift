/// `GET /healthz`: whether the process is alive.
enum GetHealth {
  static let route = Route(
    .get, "/healthz", .operations, .open, "Tells that the process is alive, whatever else is wrong.",
    answers: [RouteAnswer(200, "Alive.", .health)]
  ) { call in
    .json {
      $0.member("status", "ok")
      $0.member("version", call.context.version)
    }
  }
}
