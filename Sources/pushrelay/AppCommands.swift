import Composition
import JSON
import Operations
import PushCore

/// How a credential is shown: one topic and environment of an app.
extension Credential {
  /// A line for people.
  fileprivate var line: String {
    let state = heldSince.map { "paused since \(RFC3339.format($0)): \(heldReason ?? "")" }
    let obstacle = trouble.map { "active, but nothing could be sent since \(RFC3339.format($0.since)): \($0.text)" }
    return "\(topic)  \(environment.name)  \(state ?? obstacle ?? "active")"
  }
}

/// `pushrelay app status`: what each app's credentials do at the moment.
enum AppStatusCommand {
  static let command = Command(
    "status", "Shows each app's topics and environments: active, or paused since when and why.",
    options: [.topic, .store], examples: ["pushrelay app status"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console, usesKeys: false)
    return try await context.withStore(creates: false) { store in
      let credentials =
        if let topic = invocation.value("topic") {
          try await AppChoice.credentials(ofAppOf: topic, context, store)
        } else {
          try await store.credentials()
        }
      for credential in credentials {
        if invocation.flag("json") { console.print(object: credential.write) } else { console.print(credential.line) }
      }
      if credentials.isEmpty { console.diagnose("the store knows no app yet; pushrelay serve makes them known") }
      return .success
    }
  }
}

/// `pushrelay app pause` and `pushrelay app resume`.
enum AppPauseCommand {
  static let pause = command(
    "pause", "Stops sending for an app, all its topics; its notifications wait, uncounted.", done: "paused"
  ) { store, credentials in try await store.hold(credentials, reason: Credential.pausedByOperator) }

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
      let context = try CommandContext(invocation, console, usesKeys: false)
      let topic = try invocation.value("topic") ?? context.configuration.onlyApp.topic
      return try await context.withStore(creates: false) { store in
        try await context.bind(store, topics: [context.appTopic(of: topic)])
        let environment = invocation.value("environment")
        func chosen() async throws -> [Credential] {
          try await AppChoice.credentials(ofAppOf: topic, context, store).filter {
            environment == nil || $0.environment.name == environment
          }
        }
        try await act(store, try await chosen().map(\.id))
        let credentials = try await chosen()
        if invocation.flag("json") {
          console.print { object in
            object.member("result", done)
            object.member("topic", context.appTopic(of: topic))
            object.name("credentials")
            object.array { array in for credential in credentials { array.object(credential.write) } }
          }
        } else {
          for credential in credentials {
            console.print("\(done) \(credential.topic) (\(credential.environment.name))")
          }
        }
        return .success
      }
    }
  }
}

/// Which credentials a topic stands for.
private enum AppChoice {
  /// Those of its app.
  /// - Throws: 78 when neither the settings nor the store know such an app.
  static func credentials(
    ofAppOf topic: String, _ context: CommandContext, _ store: any Store
  ) async throws -> [Credential] {
    let credentials = try await context.credentials(ofAppOf: topic, in: store)
    if credentials.isEmpty, context.configuration.app(for: topic) == nil {
      throw context.configuration.unknownTopic(topic)
    }
    return credentials
  }
}
