extension Command {
  /// Runs the program whose table this is: the one statement of a root's `main.swift`.
  ///
  /// Signals are blocked first, while no other thread exists. Help, version and usage errors are answered without starting
  /// the concurrency runtime. An action runs on the global executor while the main thread waits for signals; when it is
  /// done, output is flushed and the process ends with its code.
  public func main(version: ProductVersion) -> Never {
    Signals.block()
    let console = Console(environment: .current())
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
      return try parse(Array(CommandLine.arguments.dropFirst()))
    } catch {
      console.diagnose("\(name): \(error)")
      SignalMask.end(error.exitCode)
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
    } catch let error as ConfigurationError {
      console.diagnose(error.description)
      return error.exitCode
    } catch is CancellationError {
      return .interrupted
    } catch {
      console.diagnose("\(name): \(error)")
      return (error as? any ExitCodeProviding)?.exitCode ?? .temporaryFailure
    }
  }
}
