extension Command {
  /// Runs the program whose table this is: the one statement of a root's `main.swift`.
  ///
  /// Closed standard streams are opened, the limit of descriptors is raised and signals are blocked first, while no other thread exists. Help, version and usage errors are answered without starting
  /// the concurrency runtime. An action runs on the global executor while the main thread waits for signals; when it is
  /// done, output is flushed and the process ends with its code.
  public func main(version: ProductVersion) -> Never {
    StandardStreams.open()
    OpenFileLimit.raise()
    Signals.block()
    let console = Console()
    switch request(console) {
    case .version:
      console.print(version.text)
      SignalMask.end(Self.finish(.success, console))
    case .help(let page):
      console.print(bytes: Array(page.utf8))
      SignalMask.end(Self.finish(.success, console))
    case .run(let invocation):
      // Nobody awaits this task: it ends the process.
      Task.detached { SignalMask.end(Self.finish(await invocation.run(console), console)) }
      Signals.run()
    }
  }

  private func request(_ console: Console) -> CommandRequest {
    do {
      return try parse([String](arguments: ProgramArguments.bytes()))
    } catch {
      SignalMask.end(Self.report(error, of: name, console))
    }
  }

  /// Writes the rest of the output; lost output is a failure whatever the command says.
  private static func finish(_ code: ExitCode, _ console: Console) -> ExitCode {
    guard let lost = console.finish() else { return code }
    console.diagnose("\(lost)")
    return code.combined(with: lost.exitCode)
  }
}

extension Invocation {
  /// Runs the command's action; an error is printed on standard error and becomes its code.
  public func run(_ console: Console) async -> ExitCode {
    guard let action = command.action else { return .usage }
    do {
      return try await action(self, console)
    } catch is CancellationError {
      return .interrupted
    } catch {
      return Command.report(error, of: name, console)
    }
  }
}

extension Command {
  /// Prints an error on standard error and gives the code to end with.
  fileprivate static func report(_ error: any Error, of name: String, _ console: Console) -> ExitCode {
    switch error {
    case let faults as CallFaults:
      return .combining(faults.errors.map { report($0, of: name, console) })
    case let error as ConfigurationError: console.diagnose(error.description)
    default: console.diagnose("\(name): \(error)")
    }
    return (error as? any ExitCodeProviding)?.exitCode ?? .temporaryFailure
  }
}
