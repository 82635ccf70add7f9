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
    let place: String
    let bytes: [UInt8]
    switch app.key {
    case .file(let path):
      place = path
      do {
        bytes = try Files.read(path, limit: 64 << 10)
      } catch {
        throw ConfigurationFinding(
          .error, place: path, "the key cannot be read: \(error.reason)",
          exitCode: error.isNotAllowed ? .notAllowed : .configuration)
      }
    case .text(let secret, let variable):
      place = "environment \(variable)"
      bytes = Array(secret.reveal().utf8)
    }
    do {
      return ProviderKey(teamID: app.teamID, keyID: app.keyID, privateKey: try ES256PrivateKey(pem: bytes))
    } catch {
      throw ConfigurationFinding(.error, place: place, error.message, remedy: error.remedy)
    }
  }
}
