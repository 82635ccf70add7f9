public import OpenSSL

/// A key that provider tokens may be signed with.
public struct ProviderKey: Sendable {
  /// The `iss` of its tokens.
  public var teamID: String
  /// The `kid` of its tokens.
  public var keyID: String
  /// What their signatures are verified with.
  public var publicKey: ES256PublicKey
  /// The only environment it is good for; nil: both.
  public var environment: Environment?

  /// A key of a team.
  public init(teamID: String, keyID: String, publicKey: ES256PublicKey, environment: Environment? = nil) {
    self.teamID = teamID
    self.keyID = keyID
    self.publicKey = publicKey
    self.environment = environment
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
