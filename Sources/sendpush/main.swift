import Composition
import Operations

Program.command.main(version: .current("sendpush"))
