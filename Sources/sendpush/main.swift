import BuildInfo
import Operations

Program.command.main(version: .current("sendpush"))
