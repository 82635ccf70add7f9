import APNs
import OpenSSL
import Operations
import PushCore

/// The keys and certificates of the configured apps, loaded and tried: every key has made a signature and verified it, every
/// certificate has its key and is good now.
public struct KeyRing: Sendable {
  /// A certificate and the app that has it.
  public struct Certificate: Sendable {
    /// The app's topic.
    public let topic: String
    /// What the certificate says about itself.
    public let details: CertificateDetails
    /// When it expires.
    public var expiry: UnixMilliseconds { UnixMilliseconds(details.notAfter * 1000) }
    /// Who it was made for, one line.
    public var subject: String { details.subject }
    /// The topics that it names.
    public var topics: [String] { details.topics }
  }

  /// The apps, each with what authenticates it; apps that share a key share it here too.
  public let apps: [SigningApp]
  /// The certificates among them.
  public let certificates: [Certificate]
  /// What is doubtful about certificates.
  public let warnings: [ConfigurationFinding]
  /// The apps for a store, each with the ids of what authenticates it.
  public let bindings: [AppBinding]

  /// Loads the keys and certificates of apps.
  /// - Throws: ``ConfigurationError`` with what is wrong with each; no byte of a key is in it.
  public init(_ apps: [Configuration.App], clocks: any Clocks = SystemClocks()) throws(ConfigurationError) {
    var signing: [SigningApp] = []
    var certificates: [Certificate] = []
    var findings: [ConfigurationFinding] = []
    var bindings: [AppBinding] = []
    for app in apps {
      do throws(ConfigurationFinding) {
        switch app.credential {
        case .key(let teamID, let keyID, let location):
          let known = Self.known(teamID, keyID, signing)
          let key = if let known { known } else { try Self.load(teamID, keyID, location) }
          signing.append(SigningApp(topic: app.topic, key: key))
          bindings += CommandContext.bindings(of: app, topic: app.topic)
        case .certificate(let path, let password, _):
          let loader = CertificateLoader(app: app, path: path, now: clocks.wallTime())
          let certificate = try loader.load(password: password?.reveal())
          findings += loader.warnings(of: certificate.details)
          signing.append(SigningApp(topic: app.topic, certificate: certificate))
          certificates.append(Certificate(topic: app.topic, details: certificate.details))
          bindings += loader.bindings(of: certificate.details)
        }
      } catch {
        findings.append(error)
      }
    }
    let errors = findings.filter { $0.severity == .error }
    guard errors.isEmpty else { throw ConfigurationError(errors) }
    self.apps = signing
    self.certificates = certificates
    self.bindings = bindings
    warnings = findings
  }

  private static func known(_ teamID: String, _ keyID: String, _ apps: [SigningApp]) -> ProviderKey? {
    for app in apps {
      if case .key(let key) = app.signer, key.teamID == teamID, key.keyID == keyID { return key }
    }
    return nil
  }

  private static func load(
    _ teamID: String, _ keyID: String, _ location: Configuration.KeyLocation?
  ) throws(ConfigurationFinding) -> ProviderKey {
    do throws(PrivateKeyError) {
      return ProviderKey(teamID: teamID, keyID: keyID, privateKey: try ES256PrivateKey(pem: try bytes(location)))
    } catch {
      throw ConfigurationFinding(
        .error, place: place(location), error.message, remedy: error.remedy,
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
