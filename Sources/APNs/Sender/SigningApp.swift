import PushCore

/// An app of this process's configuration and the key that signs for it.
public struct SigningApp: Sendable {
  /// The bundle id.
  public let topic: String
  /// The key.
  public let key: ProviderKey

  /// An app with its key.
  public init(topic: String, key: ProviderKey) {
    self.topic = topic
    self.key = key
  }
}

/// Finds the key for a credential.
struct Signers: Sendable {
  private var byTopic: [String: ProviderKey] = [:]
  private var byID: [String: ProviderKey] = [:]

  init(_ apps: [SigningApp]) {
    for app in apps {
      byTopic[app.topic] = app.key
      byID[Self.id(app.key.teamID, app.key.keyID)] = app.key
    }
  }

  /// The key of the credential's topic, or of the topic that it extends by a push type's suffix; else the key that the
  /// store names for it.
  func key(for credential: Credential) -> ProviderKey? {
    if let key = byTopic[credential.topic] { return key }
    if let type = PushType(suffixOf: credential.topic),
      let key = byTopic[String(credential.topic.dropLast(type.rules.topicSuffix.count))]
    {
      return key
    }
    guard let teamID = credential.teamID, let keyID = credential.keyID else { return nil }
    return byID[Self.id(teamID, keyID)]
  }

  /// The identities of all keys.
  var identities: Set<ProviderKeyIdentity> {
    Set(byTopic.values.map(\.identity)).union(byID.values.map(\.identity))
  }

  private static func id(_ teamID: String, _ keyID: String) -> String { "\(teamID)/\(keyID)" }
}
