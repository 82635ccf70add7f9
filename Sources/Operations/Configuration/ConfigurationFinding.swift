/// Something wrong, or doubtful, in the settings.
public struct ConfigurationFinding: Error, Sendable, Equatable, CustomStringConvertible {
  /// How bad it is.
  public enum Severity: String, Sendable {
    /// Nothing can start with it.
    case error
    /// It works, but is probably not what was meant.
    case warning
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
    let subject = setting.isEmpty ? message : "\(setting) \(message)"
    let text = "\(severity.rawValue): \(subject)\(remedy.isEmpty ? "" : "; \(remedy)")"
    return PrintableText.escaped(place.isEmpty ? text : "\(place): \(text)")
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
  /// The code of a program that cannot go on because of it.
  public let exitCode: ExitCode

  /// A fault.
  public init(_ message: String, remedy: String = "", exitCode: ExitCode = .configuration) {
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
