import Operations

/// What a simulator is, from its options or a test.
public struct SimulatorConfiguration: Sendable {
  /// An address to listen on.
  public struct Listener: Sendable, Equatable {
    /// Which of Apple's hosts it stands for.
    public var role: ListenerRole
    /// A name or an address; an IPv6 address without brackets.
    public var host: String
    /// 0: any free port.
    public var port: UInt16

    /// An address to listen on.
    public init(
      _ environment: Environment = .production, managesChannels: Bool = false, host: String = "127.0.0.1",
      port: UInt16 = 0
    ) {
      role = ListenerRole(environment, managesChannels: managesChannels)
      self.host = host
      self.port = port
    }
  }

  /// Where it listens; at least one.
  public var listeners: [Listener]
  /// The folder of `ca.pem`, `cert.pem` and their keys; created when it is not there.
  public var tlsDirectory: String
  /// Names and addresses of the certificate beyond localhost, 127.0.0.1 and ::1.
  public var tlsNames: [String] = []
  /// A PEM file with authorities of client certificates, known beside the folder's own; nil: none.
  public var clientAuthorityFile: String?
  /// Credentials, topics and device tokens.
  public var rules: RequestRules
  /// Whether requests are judged; otherwise each is counted and answered 200.
  public var checks = true
  /// How long each answer waits.
  public var answerDelay = Duration.zero
  /// A file for one line of JSON per request.
  public var logPath: String?
  /// What goes wrong.
  public var script = FaultScript()
  /// Where the simulator is controlled: a loopback address; nil: nowhere. The role means nothing.
  public var control: Listener?
  /// Told in one sentence what keeps the simulator from doing its work; on the loop's thread.
  public var diagnose: @Sendable (String) -> Void = { _ in }

  /// Whether requests are only counted: there is nothing to judge, to log, to spoil, to control or to answer otherwise.
  var isPlain: Bool { !checks && logPath == nil && script.rules.isEmpty && control == nil && rules.knobs == Knobs() }

  /// A simulator with checks.
  public init(listeners: [Listener] = [Listener()], tlsDirectory: String, rules: RequestRules) {
    self.listeners = listeners
    self.tlsDirectory = tlsDirectory
    self.rules = rules
  }
}
