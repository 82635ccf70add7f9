/// What a command line asks for.
public enum CommandRequest: Sendable {
  /// To run a command.
  case run(Invocation)
  /// To print a help page.
  case help(String)
  /// To print the program's version.
  case version
}

extension Command {
  /// Reads the arguments that follow the program's name; the receiver is the program.
  ///
  /// `--name value` and `--name=value` mean the same; `--` ends the options; nothing is abbreviated; an argument that
  /// begins with `--` is never taken for a value, which catches `--title --body text`.
  /// - Throws: ``UsageError`` for the first fault.
  public func parse(_ arguments: [String]) throws(UsageError) -> CommandRequest {
    var parser = CommandParser(command: self, path: [name], arguments: arguments[...])
    return try parser.parse()
  }
}

/// Walks the arguments once: first the words that choose the command, then its options and operands.
private struct CommandParser {
  var command: Command
  var path: [String]
  var arguments: ArraySlice<String>
  var given: [String: [String]] = [:]
  var operands: [String] = []

  mutating func parse() throws(UsageError) -> CommandRequest {
    let isRoot = path.count == 1
    if isRoot, arguments.first == "--version" {
      if arguments.count > 1 { throw failure("--version stands alone") }
      return .version
    }
    while !command.commands.isEmpty {
      if let help = try descend() { return help }
    }
    // Help wins over every fault after it and before it, as long as it is an option and no value.
    if asksForHelp { return .help(HelpText.page(for: command, path: path)) }
    while let argument = arguments.popFirst() {
      if argument == "--" {
        operands += arguments
        break
      }
      if argument.hasPrefix("-"), argument != "-" { try option(argument) } else { operands.append(argument) }
    }
    try checkOperands()
    return .run(Invocation(command: command, path: path, given: given, operands: operands))
  }

  private var asksForHelp: Bool { arguments.prefix { $0 != "--" }.contains { $0 == "--help" || $0 == "-h" } }

  /// Takes one word that names a command; returns a request instead when it asks for help.
  private mutating func descend() throws(UsageError) -> CommandRequest? {
    guard let word = arguments.popFirst() else {
      throw failure(
        "a command is missing: \(command.commands.filter(\.isAvailable).map(\.name).joined(separator: ", "))")
    }
    if word == "--help" || word == "-h" { return .help(HelpText.page(for: command, path: path)) }
    if word.hasPrefix("-") { throw misplaced(optionName(word)) }
    guard let next = command.commands.first(where: { $0.name == word }) else {
      throw failure(
        "unknown command \(shown(word))\(nearest(to: word, in: command.commands.filter(\.isAvailable).map(\.name)))")
    }
    guard next.isAvailable else {
      throw failure("the command '\((path + [word]).joined(separator: " "))' is not in this version")
    }
    command = next
    path.append(word)
    return nil
  }

  /// An option stands where a command should.
  private func misplaced(_ name: String) -> UsageError {
    let known = command.optionNamesBelow
    if known.contains(name) { return failure("the command comes first, \(shown(name)) after it") }
    let here = ["--help"] + (path.count == 1 ? ["--version"] : [])
    return failure("unknown option \(shown(name))\(nearest(to: name, in: here + known.sorted()))")
  }

  private mutating func option(_ argument: String) throws(UsageError) {
    let name = optionName(argument)
    guard argument.hasPrefix("--"), let option = command.option(String(name.dropFirst(2))) else {
      let known = command.options.filter(\.isAvailable).map { "--\($0.name)" }
      throw failure("unknown option \(shown(name))\(nearest(to: name, in: known))")
    }
    switch option.place {
    case .here: break
    case .later: throw failure("the option '\(name)' is not in this version")
    case .elsewhere(let owner): throw failure("the option '\(name)' belongs to \(owner)")
    }
    let attached = argument.utf8.firstIndex(of: UInt8(ascii: "=")).map { equals in
      String(argument[argument.utf8.index(after: equals)...])
    }
    if given[option.name] != nil, !option.isRepeatable, option.form != .flag {
      throw failure("'\(name)' is given twice")
    }
    given[option.name, default: []].append(try value(of: option, attached: attached))
  }

  private mutating func value(of option: CommandOption, attached: String?) throws(UsageError) -> String {
    guard case .value(let placeholder, let choices) = option.form else {
      guard attached == nil else { throw failure("'--\(option.name)' takes no value") }
      return ""
    }
    let value: String
    if let attached {
      value = attached
    } else if let next = arguments.first, !next.hasPrefix("--") {
      value = arguments.removeFirst()
    } else {
      let hint = arguments.isEmpty ? "" : " (a value that begins with dashes is written --\(option.name)=VALUE)"
      throw failure("'--\(option.name)' needs a value: --\(option.name) \(placeholder)\(hint)")
    }
    guard choices.isEmpty || choices.contains(value) else {
      throw failure(
        "'--\(option.name)' takes \(choices.joined(separator: ", ")), not \(shown(value))\(nearest(to: value, in: choices))"
      )
    }
    return value
  }

  private func checkOperands() throws(UsageError) {
    let required = command.operands.filter { $0.count != .optional }.count
    if operands.count < required { throw failure("\(command.operands[operands.count].name) is missing") }
    let takesMore = command.operands.last?.count == .oneOrMore
    if operands.count > command.operands.count, !takesMore {
      let example = command.operands.isEmpty ? command.examples.first.map { "; for example: \($0)" } : nil
      throw failure("surplus argument \(shown(operands[command.operands.count]))\(example ?? "")")
    }
  }

  /// The option's name with its dashes, without an attached value: that may be a secret.
  ///
  /// Cut between bytes: as a Character, `=` with a combining mark behind it is no `=`.
  private func optionName(_ argument: String) -> String {
    String(argument[..<(argument.utf8.firstIndex(of: UInt8(ascii: "=")) ?? argument.endIndex)])
  }

  private func nearest(to name: String, in candidates: [String]) -> String {
    NearestName.nearest(to: name, in: candidates).map { "; the nearest is '\($0)'" } ?? ""
  }

  private func failure(_ message: String) -> UsageError {
    UsageError(message, command: path.joined(separator: " "))
  }
}
