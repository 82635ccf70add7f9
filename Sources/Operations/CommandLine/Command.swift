/// A program, a command or a command's command: the one table from which parsing and help are made.
///
/// A program is the root. A command has either commands below it or an action; a program with options only has an action.
public struct Command: Sendable {
  /// What a command does: results go to the console's output, diagnostics to its error side.
  public typealias Action = @Sendable (Invocation, Console) async throws -> ExitCode

  /// The word that calls it.
  public let name: String
  /// What it does, in one sentence.
  public let summary: String
  /// Its options under their headings, without `--help`.
  public let groups: [OptionGroup]
  /// What it takes beside options.
  public let operands: [Operand]
  /// Whole command lines that show its use.
  public let examples: [String]
  /// The commands below it.
  public let commands: [Command]
  /// Whether this version has it; what it does not have is listed nowhere and refused by name.
  public let isAvailable: Bool
  /// What it does; `nil` when commands stand below it.
  public let action: Action?

  /// A command that does something.
  public init(
    _ name: String, _ summary: String, groups: [OptionGroup] = [], options: [CommandOption] = [],
    common: [CommandOption] = CommandOption.common, operands: [Operand] = [], examples: [String] = [],
    action: @escaping Action
  ) {
    self.name = name
    self.summary = summary
    self.groups = groups + [OptionGroup("Options", options + common)]
    self.operands = operands
    self.examples = examples
    commands = []
    isAvailable = true
    self.action = action
  }

  /// A program or command with commands below it.
  public init(_ name: String, _ summary: String, examples: [String] = [], commands: [Command]) {
    self.name = name
    self.summary = summary
    groups = []
    operands = []
    self.examples = examples
    self.commands = commands
    isAvailable = true
    action = nil
  }

  private init(later name: String) {
    self.name = name
    summary = ""
    groups = []
    operands = []
    examples = []
    commands = []
    isAvailable = false
    action = nil
  }

  /// A command that this version does not have yet: not listed, and refused with those words.
  public static func later(_ name: String) -> Command { Command(later: name) }

  /// Every option of the command, `--help` among them.
  var options: [CommandOption] { groups.flatMap(\.options) + [.help] }

  /// The options, with their dashes, of the commands below it.
  var optionNamesBelow: Set<String> {
    commands.reduce(into: []) { names, command in
      names.formUnion(command.options.filter(\.isAvailable).map { "--\($0.name)" })
      names.formUnion(command.optionNamesBelow)
    }
  }

  /// The option of that name.
  func option(_ name: String) -> CommandOption? { options.first { $0.name == name } }
}
