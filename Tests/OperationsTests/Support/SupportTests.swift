import Foundation
import Operations
import Support
import Testing

@Suite("Support for tests", .timeLimit(.minutes(1)))
struct SupportTests {
  let shell = BuiltProgram(path: "/bin/sh")

  @Test("a program is run with input, environment and folder, and its streams and status are returned")
  func run() async throws {
    let result = try await shell.run(
      ["-c", "cat; echo $NAME >&2; pwd; exit 3"], input: Array("in\n".utf8), environment: ["NAME": "value"],
      directory: "/usr")

    #expect(result.status == 3)
    #expect(result.lines == ["in", "/usr"])
    #expect(result.errorOutput == "value\n")
  }

  @Test("much input and much output pass at once")
  func large() async throws {
    let bytes = [UInt8](repeating: UInt8(ascii: "x"), count: 3_000_000)

    let result = try await shell.run(["-c", "cat"], input: bytes)

    #expect(result.output.utf8.count == bytes.count)
  }

  @Test("a line is waited for while the program runs, and signals reach it")
  func lines() async throws {
    try await shell.whileRunning(["-c", "trap 'echo caught; exit 7' TERM; echo ready; while :; do read x; done"]) {
      program in
      #expect(try await program.line(beginningWith: "ready") == "ready")
      program.write(Array("go\n".utf8))
      program.signal(SIGTERM)
      program.write(Array("go\n".utf8))
      let result = try await program.result()
      #expect(result.status == 7)
      #expect(result.lines == ["ready", "caught"])
    }
  }

  @Test("a line that never comes is an error when the program has ended")
  func missingLine() async throws {
    let program = try shell.start(["-c", "echo other"])
    await #expect(throws: SupportError.self) { try await program.line(beginningWith: "ready") }
  }

  @Test("a program that does not end is killed at the deadline")
  func deadline() async throws {
    let program = try shell.start(["-c", "exec sleep 1000"])
    await #expect(throws: SupportError.self) { try await program.result(within: .milliseconds(50)) }
    #expect(try await program.result().status == 128 + SIGKILL)
  }

  @Test("the programs of this package are found")
  func built() throws {
    for name in ["pushrelay", "sendpush", "apns-simulator"] { _ = try BuiltProgram(name) }
  }

  @Test("a temporary folder holds files with their mode and goes with its owner")
  func temporary() async throws {
    let path = try await withTemporaryDirectory { directory in
      let file = try directory.write("text", to: "a/b", mode: 0o644)
      let attributes = try FileManager.default.attributesOfItem(atPath: file)
      #expect(attributes[.posixPermissions] as? Int == 0o644)
      return directory.path
    }
    #expect(!FileManager.default.fileExists(atPath: path))
  }

  @Test("driven clocks wake who is due, in order, and nobody else")
  func clocks() async throws {
    let clocks = DrivenClocks()
    let start = clocks.monotonicTime()
    let wall = clocks.wallTime()
    let woken = Watched<[Int]>([])
    try await withThrowingTaskGroup { group in
      for seconds in [3, 1, 2] {
        group.addTask {
          await clocks.sleep(until: start + .seconds(seconds))
          woken.update { $0.append(seconds) }
        }
      }
      try await clocks.waitForSleepers(3)
      clocks.advanceToNextDeadline()
      _ = try await woken.wait("the first") { $0 == [1] }
      #expect(clocks.sleeperCount == 2)
      clocks.advance(by: .seconds(5))
      _ = try await woken.wait("the others") { $0.count == 3 }
    }
    #expect(clocks.monotonicTime().since(start) == .seconds(6))
    #expect(clocks.wallTime().value - wall.value == 6000)
    clocks.stepWall(by: .seconds(-10))
    #expect(clocks.wallTime().value - wall.value == -4000)
    #expect(clocks.monotonicTime().since(start) == .seconds(6))
  }

  @Test("a canceled sleeper returns without the clock")
  func canceledSleep() async throws {
    let clocks = DrivenClocks()
    await withTaskGroup { group in
      group.addTask { await clocks.sleep(until: .distantFuture) }
      group.cancelAll()
    }
    #expect(clocks.sleeperCount == 0)
  }

  @Test("a deadline ends what heeds cancellation")
  func withDeadlineEnds() async {
    await #expect(throws: SupportError.self) {
      try await withDeadline(.milliseconds(20), "the wait") { try await Task.sleep(for: .seconds(1000)) }
    }
  }

  @Test("a free port is one that nobody listens on")
  func port() throws {
    #expect(try freePort() > 1023)
  }
}
