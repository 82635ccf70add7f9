import Operations

SimulatorCommand.root.main(version: ProductVersion(name: SimulatorCommand.name, version: SimulatorCommand.version))
