import Operations
import Support
import Testing

/// A service that tells what happens to it and ends when its test lets it.
private final class ProbeService: Service {
  enum Behavior: Sendable {
    case endsWhenStopped
    case endsWhenCanceled
    case fails
    case returns
  }

  struct Failure: Error, ExitCodeProviding { let exitCode = ExitCode.unavailable }

  let name: String
  let behavior: Behavior
  let log: Watched<[String]>
  private let isStopped = Watched(false)

  init(_ name: String, _ behavior: Behavior, _ log: Watched<[String]>) {
    self.name = name
    self.behavior = behavior
    self.log = log
  }

  func run() async throws {
    log.update { [name] in $0.append("\(name) runs") }
    defer { log.update { [name] in $0.append("\(name) ends") } }
    switch behavior {
    case .fails: throw Failure()
    case .returns: return
    case .endsWhenStopped: _ = try await isStopped.wait(within: .seconds(60), "stop") { $0 }
    case .endsWhenCanceled: try await Task.sleep(for: .seconds(3600))
    }
  }

  func stop() {
    log.update { [name] in $0.append("\(name) stops") }
    isStopped.update { $0 = true }
  }
}

@Suite("Services", .timeLimit(.minutes(1)))
struct ServiceGroupTests {
  let log = Watched<[String]>([])
  let clocks = DrivenClocks()
  let recorder = LogRecorder()

  private func group(_ behaviors: ProbeService.Behavior...) -> ServiceGroup {
    var group = ServiceGroup(grace: .seconds(20), clocks: clocks, logger: recorder.logger(clocks: clocks))
    for (name, behavior) in zip(["store", "worker", "listener"], behaviors) {
      group.add(name, ProbeService(name, behavior, log))
    }
    return group
  }

  @Test("a stop ends the services one after the other, the last first")
  func order() async throws {
    let (events, continuation) = AsyncStream<Signals.Event>.makeStream()
    let group = group(.endsWhenStopped, .endsWhenStopped, .endsWhenStopped)
    async let run: Void = group.run(events: events)
    _ = try await log.wait("start") { $0.count == 3 }

    continuation.yield(.stop)
    try await run

    #expect(
      log.current.dropFirst(3) == [
        "listener stops", "listener ends", "worker stops", "worker ends", "store stops", "store ends",
      ])
  }

  @Test("after the grace period those that still run are canceled")
  func grace() async throws {
    let (events, continuation) = AsyncStream<Signals.Event>.makeStream()
    let group = group(.endsWhenStopped, .endsWhenCanceled)
    async let run: Void = group.run(events: events)
    _ = try await log.wait("start") { $0.count == 2 }

    continuation.yield(.stop)
    try await clocks.waitForSleepers()
    clocks.advance(by: .seconds(19))
    #expect(clocks.sleeperCount == 1)
    clocks.advance(by: .seconds(1))
    try await run

    #expect(log.current.contains("worker ends"))
    #expect(log.current.contains("store ends"))
    #expect(recorder.lines.contains { $0.contains("warning grace period over, canceling service.count=2") })
  }

  @Test("a service that fails ends the others and is named, with its exit code")
  func failure() async throws {
    let (events, continuation) = AsyncStream<Signals.Event>.makeStream()
    defer { continuation.finish() }

    let error = await #expect(throws: ServiceError.self) {
      try await group(.endsWhenStopped, .fails, .endsWhenStopped).run(events: events)
    }

    #expect(error?.service == "worker")
    #expect(error?.exitCode == .unavailable)
    #expect(error?.description.hasPrefix("the worker failed: ") == true)
    let tail = log.current.filter { $0.hasSuffix("stops") }
    #expect(tail == ["listener stops", "store stops"])
  }

  @Test("a service that just returns is an error too")
  func returning() async throws {
    let (events, continuation) = AsyncStream<Signals.Event>.makeStream()
    defer { continuation.finish() }

    let error = await #expect(throws: ServiceError.self) {
      try await group(.endsWhenStopped, .returns).run(events: events)
    }

    #expect(error?.description == "the worker ended unexpectedly")
    #expect(error?.exitCode == .temporaryFailure)
  }

  @Test("a reload runs while the services go on")
  func reload() async throws {
    let (events, continuation) = AsyncStream<Signals.Event>.makeStream()
    let group = group(.endsWhenStopped)
    let log = log
    async let run: Void = group.run(events: events) { log.update { $0.append("reload") } }
    _ = try await log.wait("start") { $0 == ["store runs"] }

    continuation.yield(.reload)
    _ = try await log.wait("reload") { $0 == ["store runs", "reload"] }
    continuation.yield(.stop)
    try await run
  }

  @Test("cancellation of the whole ends all without an error")
  func cancellation() async throws {
    let (events, continuation) = AsyncStream<Signals.Event>.makeStream()
    defer { continuation.finish() }
    let group = group(.endsWhenCanceled, .endsWhenCanceled)
    let log = log

    try await withThrowingTaskGroup { tasks in
      tasks.addTask { try await group.run(events: events) }
      _ = try await log.wait("start") { $0.count == 2 }
      tasks.cancelAll()
      try await tasks.waitForAll()
    }

    #expect(log.current.filter { $0.hasSuffix("ends") }.count == 2)
  }
}

@Suite("Running a command")
struct CommandRunTests {
  private func run(_ action: @escaping Command.Action) async throws -> (ExitCode, String, String) {
    let output = MemorySink()
    let diagnostics = MemorySink()
    let console = Console(output: output, diagnostics: diagnostics)
    guard case .run(let invocation) = try Command("relay", "Relays.", action: action).parse([]) else {
      return (.usage, "", "")
    }
    let code = await invocation.run(console)
    #expect(console.finish() == nil)
    return (code, output.text, diagnostics.text)
  }

  @Test("a result goes to standard output with the command's code")
  func result() async throws {
    let (code, output, diagnostics) = try await run { _, console in
      console.print("id")
      return .rejected
    }
    #expect(code == .rejected)
    #expect(output == "id\n")
    #expect(diagnostics == "")
  }

  @Test("an error goes to standard error with its own code")
  func errors() async throws {
    let usage = try await run { invocation, _ in throw invocation.usageError("--a is odd") }
    #expect(usage == (.usage, "", "relay: --a is odd\nTry 'relay --help'.\n"))

    let missing = try await run { _, _ in throw SystemError("read", "/x", code: 2) }
    #expect(missing == (.badData, "", "relay: cannot read '/x': No such file or directory\n"))

    let settings = try await run { _, _ in
      throw ConfigurationError([ConfigurationFinding(.error, place: "pushrelay.json:2", setting: "store", "is wrong")])
    }
    #expect(settings == (.configuration, "", "pushrelay.json:2: error: store is wrong\n"))
  }

  @Test("the version is a line for people and an object for programs")
  func version() {
    let version = ProductVersion(name: "relay", version: "1.2.0", commit: "abc")
    #expect(version.text == "relay 1.2.0 (abc)")
    #expect(version.json == #"{"name":"relay","version":"1.2.0","commit":"abc"}"#)
  }
}
