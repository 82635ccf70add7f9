import APNsSimulator
import Operations

let signals = StopSignals()
let console = Console(environment: .current())
let arguments = Array(CommandLine.arguments.dropFirst())
// Nobody awaits it: it ends the process.
Task.detached { endProcess(await SimulatorCommand.main(arguments, console, signals)) }
signals.serve()
