internal import Glibc
import Operations

/// Ends the process; what the console holds must be flushed before.
func endProcess(_ code: ExitCode) -> Never { exit(code.rawValue) }
