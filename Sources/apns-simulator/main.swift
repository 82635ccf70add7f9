import Operations

let console = Console(environment: .current())
exit(await Program.run(SimulatorCommand.root, arguments: Array(CommandLine.arguments.dropFirst()), console: console))
