import APNs
import OpenSSL
import Operations

/// The keys of the configured apps, loaded and tried: every key has made a signature and verified it.
public struct KeyRing: Sendable {
  /// The apps, each with its key; apps that share a key share it here too.
  public let apps: [SigningApp]

  /// Loads the keys of apps.
  /// - Throws: ``ConfigurationError`` with what is wrong with each key; no byte of a key is in it.
  public init(_ apps: [Configuration.App]) throws(ConfigurationError) {
    var signing: [SigningApp] = []
    var findings: [ConfigurationFinding] = []
    for app in apps {
      let known = signing.first { $0.key.teamID == app.teamID && $0.key.keyID == app.keyID }?.key
      do throws(ConfigurationFinding) {
        let key = if let known { known } else { try Self.load(app) }
        signing.append(SigningApp(topic: app.topic, key: key))
      } catch {
        findings.append(error)
      }
    }
    guard findings.isEmpty else { throw ConfigurationError(findings) }
    self.apps = signing
  }

  private static func load(_ app: Configuration.App) throws(ConfigurationFinding) -> ProviderKey {
    do throws(PrivateKeyError) {
      return ProviderKey(teamID: app.teamID, keyID: app.keyID, privateKey: try ES256PrivateKey(pem: try bytes(app.key)))
    } catch {
      throw ConfigurationFinding(
        .error, place: place(app.key), error.message, remedy: error.remedy,
        exitCode: error.code == .fileForbidden ? .notAllowed : .configuration)
    }
  }

  private static func bytes(_ key: Configuration.KeyLocation?) throws(PrivateKeyError) -> [UInt8] {
    switch key {
    case .file(let path): try KeyFile(path: path).bytes
    case .text(let secret, _): Array(secret.reveal().utf8)
    // Settings that were read without keys: whatever they hold, it is no key.
    case nil: []
    }
  }

  private static func place(_ key: Configuration.KeyLocation?) -> String {
    switch key {
    case .file(let path): path
    case .text(_, let variable): "environment \(variable)"
    case nil: ""
    }
  }
}
