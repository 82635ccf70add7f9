public import OpenSSL

/// A key that provider tokens may be signed with.
public struct ProviderKey: Sendable {
  /// What a key is for.
  public enum Scope: Sendable, Equatable {
    /// All topics of its team.
    case team
    /// The bundle ids given, each with its suffixed topics; a connection takes tokens of its related key too.
    case topics([String], relatedKeyID: String?)
  }

  /// The `iss` of its tokens.
  public var teamID: String
  /// The `kid` of its tokens.
  public var keyID: String
  /// What their signatures are verified with.
  public var publicKey: ES256PublicKey
  /// What it is for.
  public var scope = Scope.team
  /// The only environment it is good for; nil: both.
  public var environment: Environment?

  /// A key of a team.
  public init(teamID: String, keyID: String, publicKey: ES256PublicKey, environment: Environment? = nil) {
    self.teamID = teamID
    self.keyID = keyID
    self.publicKey = publicKey
    self.environment = environment
  }

  /// Whether the connections of one key take tokens of the other: of a topic-specific one only when either names the
  /// other as related.
  func sharesConnections(with other: ProviderKey) -> Bool {
    switch (scope, other.scope) {
    case (.team, .team): true
    case (.topics(_, let related), .topics(_, let otherRelated)):
      keyID == other.keyID || related == other.keyID || otherRelated == keyID
    case (.team, .topics), (.topics, .team): false
    }
  }

  /// Whether it is for a topic.
  func covers(_ topic: String) -> Bool {
    guard case .topics(let bundleIDs, _) = scope else { return true }
    return bundleIDs.contains(TopicRules.bundleID(of: topic)) || bundleIDs.contains(topic)
  }

  /// A key from the file of a sender's private key (`.p8`). Throws ``SimulatorError``.
  public init(teamID: String, keyID: String, privateKeyFile: String) throws(SimulatorError) {
    do {
      let key = try ES256PrivateKey(pem: try KeyFile(path: privateKeyFile).bytes)
      self.init(teamID: teamID, keyID: keyID, publicKey: key.publicKey)
    } catch {
      throw SimulatorError(.key, "--key \(privateKeyFile): \(error)")
    }
  }

  /// A key from a file with its public half, PEM. Throws ``SimulatorError``.
  public init(teamID: String, keyID: String, publicKeyFile: String) throws(SimulatorError) {
    do {
      let key = try ES256PublicKey(pem: try KeyFile(path: publicKeyFile).bytes)
      self.init(teamID: teamID, keyID: keyID, publicKey: key)
    } catch {
      throw SimulatorError(.key, "--public-key \(publicKeyFile): \(error)")
    }
  }
}
