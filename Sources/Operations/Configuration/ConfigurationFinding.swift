/// Something wrong, or doubtful, in the settings.
public struct ConfigurationFinding: Error, Sendable, Equatable, CustomStringConvertible {
  /// How bad it is.
  public enum Severity: String, Sendable {
    /// Nothing can start with it.
    case error
    /// It works, but is probably not what was meant.
    case warning
    /// It is as it should be, and good to know.
    case note
  }

  /// How bad it is.
  public let severity: Severity
  /// Where it is: `pushrelay.json:12`, `environment PUSHRELAY_STORE`, `flag --store`; empty when it is about the whole.
  public let place: String
  /// The setting, such as `apns.connections`; empty when it is about none.
  public let setting: String
  /// What is wrong.
  public let message: String
  /// What to do.
  public let remedy: String
  /// The code of a program that cannot go on because of it.
  public let exitCode: ExitCode

  /// A fault of a value where it was given.
  init(
    _ severity: Severity, from source: Configuration.Source, setting: String = "", _ fault: SettingFault
  ) {
    self.init(
      severity, place: source == .standard ? "" : source.description, setting: setting, fault.message,
      remedy: fault.remedy, exitCode: fault.exitCode ?? source.exitCodeOfFault)
  }

  /// A finding.
  public init(
    _ severity: Severity, place: String = "", setting: String = "", _ message: String, remedy: String = "",
    exitCode: ExitCode = .configuration
  ) {
    self.severity = severity
    self.place = place
    self.setting = setting
    self.message = message
    self.remedy = remedy
    self.exitCode = exitCode
  }

  /// One line: place, severity, setting, what is wrong; what to do. Holds no secret and no control characters.
  public var description: String {
    let text = "\(severity.rawValue): \(advice)"
    return PrintableText.escaped(place.isEmpty ? text : "\(place): \(text)")
  }

  /// What is wrong and what to do, without place and severity.
  public var advice: String {
    let subject = setting.isEmpty ? message : "\(setting) \(message)"
    return PrintableText.escaped(remedy.isEmpty ? subject : "\(subject); \(remedy)")
  }
}

/// Settings that nothing can start with.
public struct ConfigurationError: ExitCodeProviding, CustomStringConvertible {
  /// Everything that is wrong, in the order found.
  public let findings: [ConfigurationFinding]

  /// An error with what is wrong.
  public init(_ findings: [ConfigurationFinding]) { self.findings = findings }

  /// 78, or 77 when only permissions are lacking.
  public var exitCode: ExitCode { .combining(findings.filter { $0.severity == .error }.map(\.exitCode)) }

  /// A line per finding.
  public var description: String { findings.map(\.description).joined(separator: "\n") }
}

/// What is wrong with one setting's value, to be read after the setting's name: "must be …", "has 9 characters, …".
public struct SettingFault: Error, Sendable, Equatable {
  /// What is wrong.
  public let message: String
  /// What to do.
  public let remedy: String
  /// The code of a program that cannot go on because of it; `nil` = by where the value was given, 64 on the command line and 78
  /// elsewhere.
  let exitCode: ExitCode?

  /// A fault.
  public init(_ message: String, remedy: String = "", exitCode: ExitCode? = nil) {
    self.message = message
    self.remedy = remedy
    self.exitCode = exitCode
  }

  /// What the contract of this program names but this version does not have.
  static func notInThisVersion(_ what: String = "", remedy: String) -> SettingFault {
    SettingFault(
      what.isEmpty ? "is not in this version" : "asks for \(what), which is not in this version", remedy: remedy)
  }
}
