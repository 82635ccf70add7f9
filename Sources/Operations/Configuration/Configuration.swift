/// All settings, read once at start from flags, environment, file and defaults; nothing else reads any of these.
///
/// Made by ``ConfigurationLoader``; the names and rules of the settings stand in `Settings.swift`.
public struct Configuration: Sendable, Equatable {
  /// Where a setting's value came from.
  public enum Source: Sendable, Equatable, CustomStringConvertible {
    /// Not given.
    case standard
    /// The config file, at a line.
    case file(path: String, line: Int)
    /// An environment variable.
    case environment(String)
    /// An option of the command line.
    case flag(String)

    /// As in messages: `default`, `pushrelay.json:3`, `environment PUSHRELAY_STORE`, `flag --store`.
    public var description: String {
      switch self {
      case .standard: "default"
      case .file(let path, let line): "\(path):\(line)"
      case .environment(let name): "environment \(name)"
      case .flag(let name): "flag --\(name)"
      }
    }

    /// The code of a program that was given an unusable value there.
    var exitCodeOfFault: ExitCode {
      switch self {
      case .standard, .file, .environment: .configuration
      case .flag: .usage
      }
    }
  }

  /// Which of Apple's two services a device token belongs to.
  public enum Environment: String, Sendable, CaseIterable {
    /// api.push.apple.com: apps from the App Store and TestFlight.
    case production
    /// api.sandbox.push.apple.com: apps run from Xcode.
    case sandbox
  }

  /// Where a private key is; it is loaded elsewhere.
  public enum KeyLocation: Sendable, Equatable {
    /// A .p8 file.
    case file(path: String)
    /// The PEM text itself, with the environment variable that held it.
    case text(SecretText, variable: String)
  }

  /// What an app authenticates with.
  public enum Credential: Sendable, Equatable {
    /// A key that signs provider tokens. Team ID and key ID have ten capital letters and digits each. The location is nil when it
    /// was not looked for: a command that never signs needs no key.
    case key(teamID: String, keyID: String, KeyLocation?)
    /// A certificate with its key, in a PEM or PKCS#12 file that is loaded elsewhere, and the password of the file, if it has one
    /// and was looked for.
    case certificate(path: String, password: SecretText?, variable: String?)
  }

  /// An app: a topic with its credential.
  public struct App: Sendable, Equatable {
    /// The bundle id.
    public let topic: String
    /// The environment of devices that do not say.
    public let environment: Environment
    /// What it authenticates with.
    public let credential: Credential

    /// The team ID of its key; nil with a certificate.
    public var teamID: String? { if case .key(let teamID, _, _) = credential { teamID } else { nil } }
    /// The key ID of its key; nil with a certificate.
    public var keyID: String? { if case .key(_, let keyID, _) = credential { keyID } else { nil } }
    /// Where its private key is; nil with a certificate, and when it was not looked for.
    public var key: KeyLocation? { if case .key(_, _, let key) = credential { key } else { nil } }

    /// An app whose parts keep the rules of the settings.
    public init(topic: String, environment: Environment, credential: Credential) {
      self.topic = topic
      self.environment = environment
      self.credential = credential
    }

    /// An app with a key.
    public init(topic: String, environment: Environment, teamID: String, keyID: String, key: KeyLocation?) {
      self.init(topic: topic, environment: environment, credential: .key(teamID: teamID, keyID: keyID, key))
    }
  }

  /// How APNs is reached.
  public struct APNs: Sendable, Equatable {
    /// The production service.
    public internal(set) var production = HostPort(host: "api.push.apple.com", port: 443)
    /// The sandbox service.
    public internal(set) var sandbox = HostPort(host: "api.sandbox.push.apple.com", port: 443)
    /// A PEM file of certificate authorities to trust beside the system's.
    public internal(set) var authoritiesFile: String?
    /// The proxy to reach it through; see ``proxy(for:)``.
    public internal(set) var proxy: ProxyLocation?
    /// The hosts that are reached without the proxy.
    public internal(set) var proxyExceptions = ProxyExceptions("")
    /// What is wrong with the proxy that the environment names; it matters for hosts that need a proxy alone.
    var unusableProxy: ConfigurationFinding?
    /// Connections for each credential and environment.
    public internal(set) var connections = 2
    /// How long an answer is waited for.
    public internal(set) var requestTimeout = Duration.seconds(20)
    /// How long a connection is quiet before a PING.
    public internal(set) var pingInterval = Duration.seconds(60)

    /// The proxy that a host is reached through; nil = directly.
    /// - Throws: ``ConfigurationError`` when the environment names one for it that cannot be used: a push must not silently
    ///   go another way.
    public func proxy(for host: HostPort) throws(ConfigurationError) -> ProxyLocation? {
      guard !proxyExceptions.contains(host) else { return nil }
      if let unusableProxy { throw ConfigurationError([unusableProxy]) }
      return proxy
    }

    /// What ``proxy(for:)`` would throw for either service.
    public var proxyFindings: [ConfigurationFinding] {
      let isNeeded = [production, sandbox].contains { !proxyExceptions.contains($0) }
      return isNeeded ? [unusableProxy].compactMap(\.self) : []
    }
  }

  /// How long things are kept.
  public struct Retention: Sendable, Equatable {
    /// Receipts and notifications, counted from the final state.
    public internal(set) var receipts = Duration.seconds(30 * 86_400)
    /// Payload bytes, counted from the final state.
    public internal(set) var payloads = Duration.zero
  }

  /// What is logged and how.
  public struct Log: Sendable, Equatable {
    /// The least severe level that is written.
    public internal(set) var level = LogLevel.info
    /// The form of the lines.
    public internal(set) var format = LogFormat.text
  }

  /// Where queue, registry and receipts lie.
  public internal(set) var store = StoreLocation.sqlite(path: "pushrelay.db")
  /// The apps, in the file's order; one per topic.
  public internal(set) var apps: [App] = []
  /// Where HTTP is served, in the file's order.
  public internal(set) var listeners: [Listener] = []
  /// The reverse proxies whose word on their callers' addresses is taken.
  public internal(set) var trustedProxies: [IPAddressRange] = []
  /// What apps may do by themselves.
  public internal(set) var deviceAPI = DeviceAPI()
  /// Which bindings of users count.
  public internal(set) var users = Users()
  /// The interests that apps cannot subscribe to by themselves.
  public internal(set) var protectedInterests = [InterestPattern(prefix: "auth-")]
  /// Where webhooks of Beams may go.
  public internal(set) var webhooks = Webhooks()
  /// The Beams instances, in the file's order.
  public internal(set) var beams: [BeamsInstance] = []
  /// How APNs is reached.
  public internal(set) var apns = APNs()
  /// How long things are kept.
  public internal(set) var retention = Retention()
  /// How long open streams may take to finish when the daemon ends.
  public internal(set) var shutdownGrace = Duration.seconds(20)
  /// What is logged and how.
  public internal(set) var log = Log()

  /// The config file that was read, if any.
  public internal(set) var file: String?
  /// Where the values came from that are not defaults, by setting.
  public internal(set) var sources: [String: Source] = [:]

  /// The defaults.
  public init() {}

  /// Where the value of a setting came from.
  public func source(of setting: String) -> Source { sources[setting] ?? .standard }

  /// The app that a topic belongs to: its own, or the one whose topic it extends (`.voip`, `.push-type.liveactivity` …).
  public func app(for topic: String) -> App? {
    apps.first { $0.topic == topic } ?? apps.first { TopicText.belongs(topic, to: $0.topic) }
  }
}
