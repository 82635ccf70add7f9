import APNsSimulator
import Operations

/// One run of the simulator: from its options to its summary.
enum SimulatorRun {
  static func run(_ invocation: Invocation, _ console: Console, _ signals: StopSignals) async throws -> ExitCode {
    var configuration = try SimulatorOptions(invocation: invocation).configuration()
    configuration.diagnose = { console.diagnose("\(SimulatorCommand.name): \($0)") }
    let simulator = try await Simulator.start(configuration)
    for address in simulator.addresses {
      console.print("listening on \(address) (\(address.environment.listenerName))")
    }
    console.flush()
    await signals.first()
    console.print(await simulator.stop().json)
    return .success
  }
}
