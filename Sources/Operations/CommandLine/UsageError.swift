/// A command line that cannot be understood; ends the program with 64.
public struct UsageError: ExitCodeProviding, Equatable, CustomStringConvertible {
  /// What is wrong, in one sentence; long arguments are shortened, for they may be device tokens or secrets.
  public let message: String
  /// The words up to the command that was meant, such as `pushrelay device add`; empty when a command's action finds the fault.
  public let command: String

  /// A fault in the use of a command.
  public init(_ message: String, command: String = "") {
    self.message = message
    self.command = command
  }

  /// 64.
  public var exitCode: ExitCode { .usage }

  /// The message and where help is.
  public var description: String {
    command.isEmpty ? message : "\(message)\nTry '\(command) --help'."
  }
}

/// An argument as it may stand in a message: whole when short, else its first 8 and last 4 characters.
func shown(_ argument: some StringProtocol) -> String {
  let text = PrintableText.escaped(argument)
  return text.count <= 24 ? "'\(text)'" : "'\(text.prefix(8))…\(text.suffix(4))'"
}
