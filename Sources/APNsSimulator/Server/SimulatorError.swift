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

  /// 78: each is put right in the options or in a file that they name.
  public var exitCode: ExitCode { .configuration }
}
