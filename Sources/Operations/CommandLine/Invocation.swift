/// A command line that was understood: which command, with which options and operands.
///
/// Asking for an option that the command's table does not have is a fault of the program and traps.
public struct Invocation: Sendable {
  /// The command that was called.
  public let command: Command
  /// The words that called it, from the program's name.
  public let path: [String]
  /// The arguments that are no options, in order.
  public let operands: [String]
  private let given: [String: [String]]

  init(command: Command, path: [String], given: [String: [String]], operands: [String]) {
    self.command = command
    self.path = path
    self.given = given
    self.operands = operands
  }

  /// The words that called the command, such as `pushrelay device add`.
  public var name: String { path.joined(separator: " ") }

  /// Whether the command's table has an option that can be given.
  public func takes(_ name: String) -> Bool { command.option(name)?.isAvailable ?? false }

  /// Whether the option, flag or not, was given.
  public func isGiven(_ name: String) -> Bool { given[name] != nil }

  /// Whether the flag was given.
  public func flag(_ name: String) -> Bool {
    precondition(form(of: name) == .flag, "--\(name) is no flag of '\(self.name)'")
    return given[name] != nil
  }

  /// The values of an option in the order given; empty when it was not given.
  public func values(_ name: String) -> [String] {
    precondition(form(of: name) != .flag, "--\(name) of '\(self.name)' takes no value")
    return given[name] ?? []
  }

  /// The value of an option, or `nil` when it was not given.
  public func value(_ name: String) -> String? { values(name).last }

  /// The value of an option as a whole number.
  /// - Throws: ``UsageError`` when it is none or outside `range`.
  public func integer(_ name: String, in range: ClosedRange<Int64>) throws(UsageError) -> Int64? {
    guard let text = value(name) else { return nil }
    guard let number = Int64(text), range.contains(number) else {
      throw usageError(
        "--\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound), not \(shown(text))")
    }
    return number
  }

  /// The value of an option as a duration, such as `90s`.
  /// - Throws: ``UsageError`` when it is none.
  public func duration(_ name: String) throws(UsageError) -> Duration? {
    guard let text = value(name) else { return nil }
    do {
      return try DurationText.parse(text)
    } catch {
      throw usageError("--\(name): \(error)")
    }
  }

  /// The value of an option as a point in time in RFC 3339.
  /// - Throws: ``UsageError`` when it is none.
  public func time(_ name: String) throws(UsageError) -> UnixMilliseconds? {
    guard let text = value(name) else { return nil }
    do {
      return try RFC3339.parse(text)
    } catch {
      throw usageError("--\(name): \(error)")
    }
  }

  /// A fault that the command finds in its own options, with where its help is.
  public func usageError(_ message: String) -> UsageError { UsageError(message, command: name) }

  private func form(of name: String) -> CommandOption.Form {
    guard let option = command.option(name) else {
      preconditionFailure("'\(self.name)' has no option --\(name)")
    }
    return option.form
  }
}
