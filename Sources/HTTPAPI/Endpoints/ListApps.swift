import PushCore

/// `GET /v1/apps`: which apps are served.
enum ListApps {
  static let route = Route(
    .get, "/v1/apps", .backend, .key(.read),
    "Shows each app's topics and environments: active, or paused since when and why.",
    answers: [RouteAnswer(200, "The apps.", .apps)]
  ) { call in
    let credentials = try await call.context.store.credentials()
    return answer(credentials.filter { call.key?.allows(topic: $0.topic) ?? true })
  }

  /// The answer that shows credentials.
  static func answer(_ credentials: [Credential]) -> Answer {
    .json { writer in
      writer.name("apps")
      writer.array { array in for credential in credentials { array.object(credential.write) } }
    }
  }
}
