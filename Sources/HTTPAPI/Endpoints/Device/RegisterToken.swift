import Operations
import PushCore

/// `POST /api/token`, `/token`, `/`: the registration of the push books' apps, at each launch.
enum RegisterToken {
  static let routes = [
    route("/api/token", RouteAnswer(200, "Registered; the id names the device here.", .document)) { token, debug, id in
      .json {
        $0.member("id", id)
        $0.member("token", token.text)
        $0.member("debug", debug)
      }
    },
    route("/token", RouteAnswer(201, "Registered.")) { _, _, _ in Answer(status: 201) },
    route("/", RouteAnswer(201, "Registered.")) { _, _, _ in Answer(status: 201) },
  ]

  private static func route(
    _ path: String, _ answer: RouteAnswer, _ made: @escaping @Sendable (DeviceToken, Bool, String) -> Answer
  ) -> Route {
    .app(
      .post, path, .vapor,
      "Registers the device of an app that sends its token at each launch; with debug it belongs to the sandbox.",
      body: .tokenRegistration, answers: [answer]
    ) { call in
      let (registration, debug) = try registration(call)
      let results = try await call.knowing(registration.topic) { () async throws(StoreError) in
        try await call.context.store.register([registration])
      }
      guard let result = results.first else { throw Problem(.unavailable, "nothing was registered") }
      let id = UUIDText.naming(call.context.sha256(Array("device \(result.id.rawValue)".utf8)))
      return made(registration.token, debug, id)
    }
  }

  private static func registration(_ call: Call) throws -> (DeviceRegistration, debug: Bool) {
    let body = try call.object()
    guard let text = body["token"]?.string else { throw Problem(.malformedRequest, "token must be a string") }
    guard let debug = body["debug"]?.bool else { throw Problem(.malformedRequest, "debug must be true or false") }
    // An app that says no language, or one that is no tag, leaves the one that is known.
    let language = body["language"]?.string.flatMap { LanguageTag.fault(in: $0) == nil ? $0 : nil }
    let registration = DeviceRegistration(
      topic: try call.defaultTopic(), environment: debug ? .sandbox : .production, token: try call.appToken(text),
      language: language.map { .set($0) } ?? .unchanged, otherEnvironment: .movesHere)
    return (registration, debug)
  }
}

extension RegistrationResult {
  /// The device.
  var id: DeviceID {
    switch self {
    case .added(let id), .refreshed(let id): id
    }
  }
}
