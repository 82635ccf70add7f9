/// `GET /v1/interests/{name}`: how many devices an interest has.
enum GetInterest {
  static let route = Route(
    .get, "/v1/interests/{name}", .backend, .key(.read),
    "Counts the active devices that subscribe to an interest, in all apps that the key is for.",
    answers: [RouteAnswer(200, "The interest; 0 devices when nobody subscribes.", .interest)], refusals: [422]
  ) { call in
    let name = try call.interest()
    let count = try await call.context.store.subscriberCount(of: name, topics: call.key?.topics)
    return .json {
      $0.member("name", name)
      $0.member("devices", count)
    }
  }
}
