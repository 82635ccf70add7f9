import Operations

extension FuzzTarget {
  private static let program = Command(
    "program", "Does something.",
    commands: [
      Command(
        "act", "Acts.",
        groups: [OptionGroup("Group", [.value("list", "X", "many", repeatable: true), .value("title", "S", "text")])],
        options: [.choice("choice", ["one", "two"], "few"), .flag("flag", "yes or no"), .later("later")],
        operands: [Operand("FILE", "a file", .optional), Operand("MORE", "more", .oneOrMore)],
        action: { _, _ in .success }),
      .later("later"),
    ])

  /// Command lines: arguments ended by a byte 0. What they give as text also comes as the value of an option.
  static let commandLine = FuzzTarget(name: "command-line") { bytes in
    let arguments = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    try checkRequest(arguments)
    try checkRequest(["act"] + arguments)
    for text in arguments {
      guard case .run(let invocation) = try? program.parse(["act", "--title=\(text)", "operand"]) else {
        throw Violation("--title= does not take any text")
      }
      try require(invocation.value("title")?.hasSameBytes(as: text) == true, "--title= changes its value")
      do {
        _ = try program.parse(["act", "--titel=secret\(text)"])
        throw Violation("an unknown option is taken")
      } catch let error as UsageError {
        try require(!error.description.holdsBytes(of: "secret"), "a message repeats the value of an option")
      }
    }
  }

  private static func checkRequest(_ arguments: [String]) throws {
    do {
      guard case .run(let invocation) = try program.parse(arguments) else { return }
      // The parts of an understood line, written out, are understood as the same.
      let listed = invocation.values("list").map { "--list=\($0)" }
      let title = invocation.value("title").map { ["--title=\($0)"] } ?? []
      guard case .run(let again) = try program.parse(["act"] + listed + title + ["--"] + invocation.operands) else {
        throw Violation("a line written out is not understood")
      }
      try require(
        again.values("list").elementsEqual(invocation.values("list")) { $0.hasSameBytes(as: $1) },
        "a value is another after it is written out")
      try require(again.operands.count == invocation.operands.count, "an operand got lost")
    } catch let error as UsageError {
      try require(error.description.unicodeScalars.allSatisfy(isShown), "a message shows control characters")
    }
  }
}
