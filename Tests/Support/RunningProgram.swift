import Glibc
import Operations

/// A child process whose output is collected while it runs.
public final class RunningProgram: Sendable {
  private struct Streams: Sendable {
    var output: [UInt8] = []
    var errorOutput: [UInt8] = []
    var openStreams = 2
    var status: Int32?

    var hasEnded: Bool { status != nil && openStreams == 0 }
  }

  /// The process's number.
  public let processID: pid_t
  private let streams = Watched(Streams())
  private let input: Lock<Int32?>

  init(path: String, arguments: [String], environment: [String: String], directory: String?) throws {
    let child = try Spawn.start(path: path, arguments: arguments, environment: environment, directory: directory)
    processID = child.processID
    input = Lock(child.input)
    let streams = streams
    collect(child.output) { bytes in streams.update { $0.output += bytes } }
    collect(child.errorOutput) { bytes in streams.update { $0.errorOutput += bytes } }
    let processID = child.processID
    Spawn.thread {
      var status: Int32 = 0
      while waitpid(processID, &status, 0) < 0, errno == EINTR {}
      let signal = status & 0x7F
      let code = signal == 0 ? (status >> 8) & 0xFF : 128 + signal
      streams.update { $0.status = code }
    }
  }

  deinit {
    signal(SIGKILL)
    closeInput()
  }

  /// Standard output so far.
  public var output: String { String(decoding: streams.current.output, as: UTF8.self) }

  /// Standard output so far, when it is no text.
  public var outputBytes: [UInt8] { streams.current.output }

  /// Standard error so far.
  public var errorOutput: String { String(decoding: streams.current.errorOutput, as: UTF8.self) }

  /// Whether the process has ended.
  public var hasEnded: Bool { streams.current.status != nil }

  /// Writes to the program's standard input; what a program that has closed it does not take is dropped.
  ///
  /// Blocks while the program does not read: for more than a pipe holds (64 KB) use ``feed(_:)``.
  public func write(_ bytes: [UInt8]) {
    guard let descriptor = input.withLock({ $0 }) else { return }
    Spawn.write(bytes, to: descriptor)
  }

  /// Writes all of standard input from a thread of its own and closes it.
  public func feed(_ bytes: [UInt8]) {
    guard let descriptor = input.withLock({ $0.take() }) else { return }
    Spawn.thread {
      Spawn.write(bytes, to: descriptor)
      close(descriptor)
    }
  }

  /// Closes the program's standard input.
  public func closeInput() {
    if let descriptor = input.withLock({ $0.take() }) { close(descriptor) }
  }

  /// Sends a signal; nothing when the process has ended.
  public func signal(_ number: Int32) {
    // Until the waiting thread has reaped the process its number cannot belong to another.
    if streams.current.status == nil { kill(processID, number) }
  }

  /// Returns the first line of standard output that `condition` accepts, among those already written or to come.
  public func line(
    within limit: Duration = .seconds(20), where condition: @escaping @Sendable (String) -> Bool
  ) async throws -> String {
    try await firstLine(of: \.output, within: limit, where: condition)
  }

  /// Returns the first line of standard output that begins with `prefix`.
  public func line(beginningWith prefix: String, within limit: Duration = .seconds(20)) async throws -> String {
    try await line(within: limit) { $0.hasPrefix(prefix) }
  }

  /// Returns the first line of standard error that contains `text`.
  public func errorLine(containing text: String, within limit: Duration = .seconds(20)) async throws -> String {
    try await firstLine(of: \.errorOutput, within: limit) { $0.contains(text) }
  }

  /// Waits for the program's end and for the end of its output; kills it at the deadline.
  public func result(within limit: Duration = .seconds(30)) async throws -> ProgramResult {
    do {
      let end = try await streams.wait(within: limit, "the program") { $0.hasEnded }
      return ProgramResult(
        status: end.status ?? -1, output: String(decoding: end.output, as: UTF8.self),
        errorOutput: String(decoding: end.errorOutput, as: UTF8.self))
    } catch {
      signal(SIGKILL)
      throw SupportError("\(error); it wrote:\n\(output)\(errorOutput)")
    }
  }

  private func firstLine(
    of stream: @escaping @Sendable (Streams) -> [UInt8], within limit: Duration,
    where condition: @escaping @Sendable (String) -> Bool
  ) async throws -> String {
    let find: @Sendable (Streams) -> String? = { streams in
      let bytes = stream(streams)
      // What follows the last line feed is no line yet, unless nothing more can come.
      let whole = streams.hasEnded ? bytes[...] : bytes.prefix((bytes.lastIndex(of: 10) ?? -1) + 1)
      return whole.split(separator: 10).lazy.map { String(decoding: $0, as: UTF8.self) }.first(where: condition)
    }
    let state = try await streams.wait(within: limit, "waiting for a line; so far:\n\(output)\(errorOutput)") {
      find($0) != nil || $0.hasEnded
    }
    guard let line = find(state) else {
      throw SupportError("the program ended with \(state.status ?? -1) before that line:\n\(output)\(errorOutput)")
    }
    return line
  }

  private func collect(_ descriptor: Int32, _ append: @escaping @Sendable ([UInt8]) -> Void) {
    let streams = streams
    Spawn.thread {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR { continue }
        if count <= 0 { break }
        append(Array(buffer[..<count]))
      }
      close(descriptor)
      streams.update { $0.openStreams -= 1 }
    }
  }
}
