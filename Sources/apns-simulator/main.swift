import BuildInfo
import Operations

SimulatorCommand.root.main(version: .current(SimulatorCommand.name))
