/// Lays out help pages from a command's table.
enum HelpText {
  /// Columns of a page.
  static let width = 100
  /// Columns of the left side before help starts on its own line.
  static let widestTerm = 30

  /// The page of a command called by the words of `path`.
  static func page(for command: Command, path: [String]) -> String {
    var sections = ["usage: \(usage(of: command, path: path))", wrapped(command.summary, indent: 0)]
    let commands = command.commands.filter(\.isAvailable).map { ($0.name, $0.summary) }
    if !commands.isEmpty { sections.append("Commands\n" + table(commands)) }
    if !command.operands.isEmpty {
      sections.append("Arguments\n" + table(command.operands.map { ($0.name, $0.help) }))
    }
    for group in groups(of: command, isRoot: path.count == 1) { sections.append("\(group.title)\n" + rows(of: group)) }
    if !command.examples.isEmpty {
      sections.append("Examples\n" + command.examples.map { "  \($0)" }.joined(separator: "\n"))
    }
    return sections.joined(separator: "\n\n") + "\n"
  }

  private static func usage(of command: Command, path: [String]) -> String {
    let rest = command.commands.isEmpty ? ["[options]"] + command.operands.map(\.synopsis) : ["COMMAND [options]"]
    return (path + rest).joined(separator: " ")
  }

  /// The groups with `--help` (and `--version` for a program) in the last one.
  private static func groups(of command: Command, isRoot: Bool) -> [OptionGroup] {
    var groups = command.groups
    let last = groups.popLast() ?? OptionGroup("Options", [])
    groups.append(OptionGroup(last.title, last.options + (isRoot ? [.version, .help] : [.help])))
    return groups
  }

  private static func rows(of group: OptionGroup) -> String {
    table(
      group.options.filter(\.isAvailable).map { option in
        (option.synopsis, option.help + (option.isRepeatable ? " (repeatable)" : ""))
      })
  }

  /// Terms on the left, explanations aligned on the right; a long term has a line of its own.
  private static func table(_ rows: [(term: String, text: String)]) -> String {
    let column = min(rows.map(\.term.count).max() ?? 0, widestTerm) + 4
    return rows.map { term, text in
      let explanation = wrapped(text, indent: column)
      let gap = column - 2 - term.count
      return gap >= 2
        ? "  \(term)\(spaces(gap))\(explanation)" : "  \(term)\n\(spaces(column))\(explanation)"
    }.joined(separator: "\n")
  }

  /// The text broken between words; lines after the first are indented.
  private static func wrapped(_ text: String, indent: Int) -> String {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, indent + line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += line.isEmpty ? String(word) : " \(word)"
    }
    lines.append(line)
    return lines.joined(separator: "\n\(spaces(indent))")
  }

  private static func spaces(_ count: Int) -> String { String(repeating: " ", count: count) }
}
