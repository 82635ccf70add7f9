import Operations
import Testing

@Suite("Console, exit codes, faults, nearest names")
struct ConsoleTests {
  @Test("results wait in the buffer until they are flushed; a terminal gets each line")
  func buffering() {
    let pipe = MemorySink()
    let terminal = MemorySink(isTerminal: true)
    let toPipe = Console(output: pipe, diagnostics: MemorySink())
    let toTerminal = Console(output: terminal, diagnostics: MemorySink())

    toPipe.print("one")
    toTerminal.print("one")
    #expect(pipe.text == "")
    #expect(terminal.text == "one\n")

    toPipe.flush()
    #expect(pipe.text == "one\n")
    #expect(toPipe.finish() == nil)
  }

  @Test("a reader that goes away ends output quietly, a full disk does not")
  func lostReader() {
    let lost = SystemError("write to", "standard output", code: 32)
    let full = SystemError("write to", "standard output", code: 28)
    let piped = Console(output: MemorySink(failure: lost), diagnostics: MemorySink())
    let onDisk = Console(output: MemorySink(failure: full), diagnostics: MemorySink())

    for console in [piped, onDisk] {
      console.print("one")
      console.flush()
      #expect(console.outputEnded)
    }

    #expect(piped.finish() == nil)
    #expect(onDisk.finish() == full)
    #expect(full.exitCode == .temporaryFailure)
    #expect(full.description == "cannot write to 'standard output': No space left on device")
  }

  @Test("of several exit codes the first of 65, 64, 78, 77, 69, 75, 1, 0 wins")
  func precedence() {
    let order: [ExitCode] = [
      .badData, .usage, .configuration, .notAllowed, .unavailable, .temporaryFailure, .rejected, .success,
    ]

    #expect(order.map(\.rawValue) == [65, 64, 78, 77, 69, 75, 1, 0])
    for index in order.indices { #expect(ExitCode.combining(order[index...].reversed()) == order[index]) }
    #expect(ExitCode.combining([]) == .success)
  }

  @Test("faults are gathered, said one after the other, and end with the first code of the list")
  func faults() async throws {
    let diagnostics = MemorySink()
    let program = Command("relay", "Relays.") { invocation, _ in
      var faults = CallFaults()
      #expect(faults.collect { 1 } == 1 && faults.isEmpty)
      faults.add(ConfigurationError([ConfigurationFinding(.error, "no file")]))
      let nothing: Int? = faults.collect { throw invocation.usageError("no option") }
      #expect(nothing == nil)
      faults.add(SystemError("read", "x", code: 2))
      try faults.check()
      return .success
    }
    guard case .run(let invocation) = try program.parse([]) else { return }

    let code = await invocation.run(Console(output: MemorySink(), diagnostics: diagnostics))

    #expect(code == .badData)
    #expect(
      diagnostics.text == """
        error: no file
        relay: no option
        Try 'relay --help'.
        relay: cannot read 'x': No such file or directory

        """)
  }

  @Test(
    "the nearest name has the fewest edits",
    arguments: [
      ("--tokne", "--token"), ("tittle", "title"), ("intrest", "interest"), ("x", "title"), ("inter", "interest"),
    ])
  func nearest(misspelled: String, meant: String) {
    #expect(NearestName.nearest(to: misspelled, in: ["title", "--token", "interest"]) == meant)
    #expect(NearestName.nearest(to: misspelled, in: []) == nil)
  }
}
