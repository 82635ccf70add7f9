import Foundation
import Glibc
import Operations

/// Starts child processes with three pipes.
enum Spawn {
  struct Child {
    let processID: pid_t
    let input: Int32
    let output: Int32
    let errorOutput: Int32
  }

  /// Held from making pipes to starting the child, so that no other child of ours inherits them and keeps them open.
  private static let lock = Lock(())

  static func start(
    path: String, arguments: [String], environment: [String: String], directory: String?
  ) throws -> Child {
    // A child that ends without reading its input must not end the tests.
    _ = Glibc.signal(SIGPIPE, SIG_IGN)
    return try lock.withLock { _ in
      let input = try pipe()
      let output = try pipe()
      let errorOutput = try pipe()
      defer { for end in [input.read, output.write, errorOutput.write] { close(end) } }

      var actions = posix_spawn_file_actions_t()
      posix_spawn_file_actions_init(&actions)
      defer { posix_spawn_file_actions_destroy(&actions) }
      posix_spawn_file_actions_adddup2(&actions, input.read, 0)
      posix_spawn_file_actions_adddup2(&actions, output.write, 1)
      posix_spawn_file_actions_adddup2(&actions, errorOutput.write, 2)

      var attributes = posix_spawnattr_t()
      posix_spawnattr_init(&attributes)
      defer { posix_spawnattr_destroy(&attributes) }
      resetSignals(&attributes)

      // glibc's own file action for this is hidden from Swift; env(1) becomes the program, so the process is the same.
      let command = (directory.map { ["/usr/bin/env", "--chdir=\($0)"] } ?? []) + [path] + arguments
      var words: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
      var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
      defer { for text in words + variables { free(text) } }
      var processID: pid_t = 0
      let code = posix_spawn(&processID, command[0], &actions, &attributes, &words, &variables)
      guard code == 0 else {
        for end in [input.write, output.read, errorOutput.read] { close(end) }
        throw SystemError("start", path, code: code)
      }
      return Child(processID: processID, input: input.write, output: output.read, errorOutput: errorOutput.read)
    }
  }

  /// Writes all of `bytes` unless the reader goes away.
  static func write(_ bytes: [UInt8], to descriptor: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno != EINTR { return }
      rest = rest.dropFirst(max(count, 0))
    }
  }

  /// Runs blocking work on a thread of its own.
  static func thread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    thread.stackSize = 512 * 1024
    thread.start()
  }

  /// The child starts with no signal blocked and all at their defaults, whatever the tests' process has set.
  private static func resetSignals(_ attributes: inout posix_spawnattr_t) {
    var set = sigset_t()
    sigemptyset(&set)
    posix_spawnattr_setsigmask(&attributes, &set)
    for number in [SIGPIPE, SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, number) }
    posix_spawnattr_setsigdefault(&attributes, &set)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
  }

  /// A pipe whose ends no child inherits except as its standard streams.
  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    guard Glibc.pipe(&ends) == 0 else { throw SystemError.last("make a pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
}
