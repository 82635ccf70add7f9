import Operations
import PushCore

extension CommandContext {
  /// Makes sure that the store knows these topics with the ids of what signs for them, as far as the settings tell.
  public func bind(_ store: any Store, topics: [String]) async throws {
    let bindings = topics.flatMap { topic in
      configuration.app(for: topic).map { Self.bindings(of: $0, topic: topic) } ?? []
    }
    guard !bindings.isEmpty else { return }
    let bound = try await store.bind(bindings)
    // A pause is the app's: a topic of it that becomes known later is paused with it.
    let extensions = bound.filter { $0.topic != appTopic(of: $0.topic) && $0.heldSince == nil }
    guard !extensions.isEmpty else { return }
    let paused = try await store.credentials().filter { $0.heldReason == Credential.pausedByOperator }
    let late = extensions.filter { credential in
      paused.contains {
        $0.topic == appTopic(of: credential.topic) && $0.environment == credential.environment
      }
    }
    if !late.isEmpty { try await store.hold(late.map(\.id), reason: Credential.pausedByOperator) }
  }

  /// The topic of the app that a topic belongs to: the configured one, else the bundle id.
  public func appTopic(of topic: String) -> String {
    configuration.app(for: topic)?.topic ?? TopicText.bundleID(of: topic)
  }

  /// The credentials of a topic's whole app, its other topics included.
  public func credentials(ofAppOf topic: String, in store: any Store) async throws -> [Credential] {
    let app = appTopic(of: topic)
    return try await store.credentials().filter { appTopic(of: $0.topic) == app }
  }

  /// The bindings of a topic of an app: one for each environment, since one key serves both. Which certificate an app has is told
  /// by the process that loads it, see ``KeyRing/bindings``.
  public static func bindings(of app: Configuration.App, topic: String) -> [AppBinding] {
    Environment.allCases.map {
      AppBinding(topic: topic, environment: $0, teamID: app.teamID, keyID: app.keyID)
    }
  }
}
