/// One row of a command's table: an option, its help, and what it takes.
public struct CommandOption: Sendable {
  /// What follows the option's name.
  public enum Form: Sendable, Equatable {
    /// Nothing: given or not.
    case flag
    /// One value; `choices` lists all that are taken, when they are few.
    case value(placeholder: String, choices: [String])
  }

  /// The name without dashes.
  public let name: String
  /// What follows the name.
  public let form: Form
  /// One line for the help page.
  public let help: String
  /// Whether it may be given more than once.
  public let isRepeatable: Bool
  /// Whether it can be given; what cannot is listed nowhere and refused by name.
  let place: Place

  /// Where an option can be given.
  enum Place: Sendable, Equatable {
    /// Here.
    case here
    /// In a later version.
    case later
    /// With another command: what is said of it in messages.
    case elsewhere(String)
  }

  /// Whether it can be given.
  var isAvailable: Bool { place == .here }

  /// An option that takes nothing.
  public static func flag(_ name: String, _ help: String) -> CommandOption {
    CommandOption(name: name, form: .flag, help: help, isRepeatable: false, place: .here)
  }

  /// An option that takes a value, as `--name value` or `--name=value`.
  public static func value(
    _ name: String, _ placeholder: String, _ help: String, repeatable: Bool = false
  ) -> CommandOption {
    CommandOption(
      name: name, form: .value(placeholder: placeholder, choices: []), help: help, isRepeatable: repeatable,
      place: .here)
  }

  /// An option that takes one of a few words.
  public static func choice(_ name: String, _ choices: [String], _ help: String) -> CommandOption {
    CommandOption(
      name: name, form: .value(placeholder: choices.joined(separator: "|"), choices: choices), help: help,
      isRepeatable: false, place: .here)
  }

  /// An option that this version does not have yet: not listed, and refused with those words.
  public static func later(_ name: String) -> CommandOption {
    CommandOption(name: name, form: .flag, help: "", isRepeatable: false, place: .later)
  }

  /// An option that another command takes, which users may look for here: not listed, and refused with the name of its owner.
  public static func elsewhere(_ name: String, _ owner: String) -> CommandOption {
    CommandOption(name: name, form: .flag, help: "", isRepeatable: false, place: .elsewhere(owner))
  }

  /// `--config FILE`.
  public static let configuration = value(
    "config", "FILE", "config file (default: pushrelay.json, then /etc/pushrelay/)")
  /// `--json`.
  public static let json = flag("json", "prints JSON for programs")
  /// `--log-level LEVEL`.
  public static let logLevel = choice(
    "log-level", ["error", "warning", "info", "debug"], "least severe events to log")
  /// `--log-format text|json`.
  public static let logFormat = choice("log-format", ["text", "json"], "form of the log lines on standard error")
  /// `--help`, which every command has.
  static let help = flag("help", "prints this page")
  /// `--version`, which every program has.
  static let version = flag("version", "prints the version")

  /// What every command takes unless it says otherwise.
  public static let common: [CommandOption] = [json, configuration, logLevel, logFormat]

  /// The name and its placeholder as on the help page.
  var synopsis: String {
    switch form {
    case .flag: "--\(name)"
    case .value(let placeholder, _): "--\(name) \(placeholder)"
    }
  }
}

/// Options that belong together on the help page.
public struct OptionGroup: Sendable {
  /// The heading.
  public let title: String
  /// The rows.
  public let options: [CommandOption]

  /// Options under a heading.
  public init(_ title: String, _ options: [CommandOption]) {
    self.title = title
    self.options = options
  }
}

/// An argument that is no option: a file, an id.
public struct Operand: Sendable {
  /// How many are taken.
  public enum Count: Sendable {
    /// Exactly one.
    case one
    /// None or one.
    case optional
    /// One or more.
    case oneOrMore
  }

  /// The placeholder on the help page.
  public let name: String
  /// One line for the help page.
  public let help: String
  /// How many are taken.
  public let count: Count

  /// An operand with its placeholder and its help.
  public init(_ name: String, _ help: String, _ count: Count = .one) {
    self.name = name
    self.help = help
    self.count = count
  }

  /// The operand as on the usage line.
  var synopsis: String {
    switch count {
    case .one: name
    case .optional: "[\(name)]"
    case .oneOrMore: "\(name)…"
    }
  }
}
