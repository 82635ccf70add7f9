import Operations
import Testing

@Suite("Console, exit codes, nearest names")
struct ConsoleTests {
  let environment = ProcessEnvironment([:])

  @Test("results wait in the buffer until they are flushed; a terminal gets each line")
  func buffering() {
    let pipe = MemorySink()
    let terminal = MemorySink(isTerminal: true)
    let toPipe = Console(environment: environment, output: pipe, diagnostics: MemorySink())
    let toTerminal = Console(environment: environment, output: terminal, diagnostics: MemorySink())

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
    let piped = Console(environment: environment, output: MemorySink(failure: lost), diagnostics: MemorySink())
    let onDisk = Console(environment: environment, output: MemorySink(failure: full), diagnostics: MemorySink())

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

  @Test("colors need a terminal and no NO_COLOR")
  func color() {
    func usesColor(_ variables: [String: String], isTerminal: Bool) -> Bool {
      Console(environment: ProcessEnvironment(variables), output: MemorySink(isTerminal: isTerminal)).usesColor
    }

    #expect(usesColor([:], isTerminal: true))
    #expect(usesColor(["NO_COLOR": ""], isTerminal: true))
    #expect(!usesColor(["NO_COLOR": "1"], isTerminal: true))
    #expect(!usesColor(["TERM": "dumb"], isTerminal: true))
    #expect(!usesColor([:], isTerminal: false))
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
