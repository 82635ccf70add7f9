import Operations

/// Why the simulator cannot start.
public struct SimulatorError: ExitCodeProviding, Equatable, CustomStringConvertible {
  /// What kind of thing is wrong.
  public enum Code: Sendable, Equatable {
    /// An address cannot be listened on.
    case listener
    /// The certificate files cannot be made or used.
    case certificate
    /// A key cannot be used.
    case key
    /// The log cannot be opened.
    case log
    /// The script cannot be read or says what it may not.
    case script
  }

  /// What kind of thing is wrong.
  public let code: Code
  /// What is wrong and what to do.
  public let message: String

  /// A failure with its sentence.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message.
  public var description: String { message }

  /// 65 for a script; 78 for the rest, which is put right in the options or in a file that they name.
  public var exitCode: ExitCode { code == .script ? .badData : .configuration }
}
