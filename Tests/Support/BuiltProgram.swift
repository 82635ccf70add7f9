import Foundation
import Glibc

/// A program of this package as the build left it, to be run as users run it.
public struct BuiltProgram: Sendable {
  /// The program's file.
  public let path: String

  /// The program of that name in the folder that also holds the running tests.
  public init(_ name: String) throws {
    let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    path = folder.appendingPathComponent(name).path
    guard access(path, X_OK) == 0 else {
      throw SupportError("'\(path)' is not built; run 'swift build' before the tests")
    }
  }

  /// Any other program by its path, such as `/usr/bin/openssl`.
  public init(path: String) { self.path = path }

  /// Runs the program to its end.
  ///
  /// - Parameters:
  ///   - input: bytes for standard input, which is closed after them.
  ///   - environment: the whole environment, so that the tester's own settings have no effect.
  ///   - deadline: after it the program is killed and the call throws.
  @discardableResult
  public func run(
    _ arguments: [String], input: [UInt8] = [], environment: [String: String] = defaultEnvironment,
    directory: String? = nil, deadline: Duration = .seconds(30)
  ) async throws -> ProgramResult {
    let program = try start(arguments, environment: environment, directory: directory)
    program.feed(input)
    return try await program.result(within: deadline)
  }

  /// Starts the program; it is killed when the returned object goes.
  public func start(
    _ arguments: [String], environment: [String: String] = defaultEnvironment, directory: String? = nil
  ) throws -> RunningProgram {
    try RunningProgram(path: path, arguments: arguments, environment: environment, directory: directory)
  }

  /// Runs `body` beside the program and kills the program afterwards, unless it has ended.
  public func whileRunning<Result>(
    _ arguments: [String], environment: [String: String] = defaultEnvironment, directory: String? = nil,
    _ body: (RunningProgram) async throws -> Result
  ) async throws -> Result {
    let program = try start(arguments, environment: environment, directory: directory)
    defer { program.signal(SIGKILL) }
    return try await body(program)
  }

  /// What programs under test see unless told otherwise: enough to find libraries, nothing of pushrelay's.
  public static let defaultEnvironment: [String: String] = {
    let kept = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "LANG"]
    return ProcessInfo.processInfo.environment.filter { kept.contains($0.key) }
  }()
}

/// How a program ended and what it wrote.
public struct ProgramResult: Sendable {
  /// The exit code; 128 + the signal's number when a signal ended it, as a shell says it.
  public let status: Int32
  /// All of standard output.
  public let output: String
  /// All of standard error.
  public let errorOutput: String

  /// The lines of standard output.
  public var lines: [String] { output.split(separator: "\n", omittingEmptySubsequences: true).map(String.init) }
}
