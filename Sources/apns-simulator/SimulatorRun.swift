import APNsSimulator
import Operations

/// One run of the simulator: from its options to its summary.
enum SimulatorRun {
  static func run(_ invocation: Invocation, _ console: Console) async throws -> ExitCode {
    var configuration = try SimulatorOptions(invocation: invocation).configuration()
    configuration.diagnose = { console.diagnose("\(SimulatorCommand.name): \($0)") }
    let stops = Signals.events()
    let simulator = try await Simulator.start(configuration)
    for address in simulator.addresses {
      console.print("listening on \(address) (\(address.role.listenerName))")
    }
    if let address = simulator.controlAddress { console.print("control on \(address)") }
    console.flush()
    await firstStopSignal(of: stops)
    console.print(await simulator.stop().json)
    return .success
  }

  private static func firstStopSignal(of events: AsyncStream<Signals.Event>) async {
    // SIGHUP asks for nothing here: the simulator reads nothing again.
    for await event in events where event == .stop { return }
  }
}
