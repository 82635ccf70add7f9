import CLinux
import Glibc

/// Standard input, output and error of the process.
enum StandardStreams {
  /// Opens those that the caller had closed on `/dev/null`: otherwise the first file that is opened becomes one of them, and
  /// a store or a socket is read from or written to as if it were a terminal. Called before anything is opened.
  static func open() {
    for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
      // The lowest free number is taken, which is this one. Without /dev/null there is nothing better than a closed stream.
      _ = unsafe Glibc.open("/dev/null", O_RDWR)
    }
  }
}
