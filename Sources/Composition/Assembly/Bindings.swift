import Operations
import PushCore

extension CommandContext {
  /// Makes sure that the store knows these topics with the ids of what signs for them, as far as the settings tell.
  public func bind(_ store: any Store, topics: [String]) async throws {
    let bindings = topics.flatMap { topic in
      configuration.app(for: topic).map { Self.bindings(of: $0, topic: topic) } ?? []
    }
    if !bindings.isEmpty { _ = try await store.bind(bindings) }
  }

  /// The bindings of a topic of an app: one for each environment, since one key serves both.
  public static func bindings(of app: Configuration.App, topic: String) -> [AppBinding] {
    Environment.allCases.map {
      AppBinding(topic: topic, environment: $0, teamID: app.teamID, keyID: app.keyID)
    }
  }
}
