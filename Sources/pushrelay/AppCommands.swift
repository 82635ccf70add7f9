import Composition
import JSON
import Operations
import PushCore

/// `pushrelay app status`: what each app's credentials do at the moment.
enum AppStatusCommand {
  static let command = Command(
    "status", "Shows each app and environment: active, or paused since when and why.",
    options: [.topic, .json, .store], examples: ["pushrelay app status"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console)
    return try await context.withStore { store in
      let credentials = try await store.credentials().filter {
        invocation.value("topic") == nil || $0.topic == invocation.value("topic")
      }
      for credential in credentials { console.print(invocation.flag("json") ? json(credential) : line(credential)) }
      if credentials.isEmpty { console.diagnose("the store knows no such app yet; pushrelay serve makes them known") }
      return .success
    }
  }

  private static func line(_ credential: Credential) -> String {
    let state =
      credential.heldSince.map { since in
        "paused since \(RFC3339.format(since)): \(credential.heldReason ?? "")"
      } ?? "active"
    return "\(credential.topic)  \(credential.environment.name)  \(state)"
  }

  private static func json(_ credential: Credential) -> String {
    var writer = JSONWriter()
    writer.object {
      $0.member("topic", credential.topic)
      $0.member("environment", credential.environment.name)
      $0.member("team_id", credential.teamID)
      $0.member("key_id", credential.keyID)
      $0.member("state", credential.heldSince == nil ? "active" : "paused")
      $0.member("reason", credential.heldReason)
      $0.member("since", credential.heldSince.map(RFC3339.format))
    }
    return writer.text
  }
}

/// `pushrelay app pause` and `pushrelay app resume`.
enum AppPauseCommand {
  static let pause = command(
    "pause", "Stops sending for an app; its notifications wait, uncounted.", done: "paused"
  ) { store, credentials in try await store.hold(credentials, reason: "operator") }

  static let resume = command(
    "resume", "Sends again for an app that was paused, by an operator or because APNs refused its credential.",
    done: "resumed"
  ) { store, credentials in try await store.resume(credentials) }

  private static func command(
    _ name: String, _ summary: String, done: String,
    _ act: @escaping @Sendable (any Store, [CredentialID]) async throws -> Void
  ) -> Command {
    Command(
      name, summary,
      options: [
        .topic, .choice("environment", ["production", "sandbox"], "only there (default: both environments)"), .store,
      ],
      examples: ["pushrelay app \(name) --topic com.example.dashboard"]
    ) { invocation, console in
      let context = try CommandContext(invocation, console)
      let topic = try invocation.value("topic") ?? context.app().topic
      return try await context.withStore { store in
        try await context.bind(store, topics: [topic])
        let environment = invocation.value("environment")
        let credentials = try await store.credentials().filter {
          $0.topic == topic && (environment == nil || $0.environment.name == environment)
        }
        guard !credentials.isEmpty else {
          console.diagnose("the store knows no app \(topic)")
          return .badData
        }
        try await act(store, credentials.map(\.id))
        console.print("\(done) \(topic) (\(credentials.map(\.environment.name).joined(separator: ", ")))")
        return .success
      }
    }
  }
}
