import JSON

/// The two sides of a program's output: results on standard output, everything else on standard error.
///
/// Output is buffered and flushed at the end, when the buffer is full, and after each line on a terminal. When the reader of
/// a pipe goes away (`| head`), output ends quietly; see ``outputEnded``.
public final class Console: Sendable {
  /// Bytes kept before they are written.
  static let bufferSize = 65_536

  private struct State {
    var buffer: [UInt8] = []
    var failure: SystemError?
  }

  private let state: Lock<State> = Lock(State())
  private let output: any ByteSink
  private let diagnostics: any ByteSink

  /// A console on the process's own standard output and standard error unless given others.
  public init(
    output: any ByteSink = DescriptorSink.standardOutput, diagnostics: any ByteSink = DescriptorSink.standardError
  ) {
    self.output = output
    self.diagnostics = diagnostics
  }

  /// Whether nobody takes results any more, so that a command that makes many can stop.
  public var outputEnded: Bool { state.withLock { $0.failure != nil } }

  /// Adds a line of results.
  public func print(_ line: String) { print(bytes: Array(line.utf8) + [UInt8(ascii: "\n")]) }

  /// Adds a line with one JSON object.
  public func print(object members: (inout JSONWriter) -> Void) {
    var writer = JSONWriter()
    writer.object(members)
    print(writer.text)
  }

  /// Adds results as they are.
  public func print(bytes: [UInt8]) {
    state.withLock { state in
      guard state.failure == nil else { return }
      state.buffer += bytes
      if output.isTerminal || state.buffer.count >= Self.bufferSize { write(&state) }
    }
  }

  /// Writes what is buffered, so that a reader that waits for it gets it.
  public func flush() { state.withLock { write(&$0) } }

  /// Writes the rest and tells whether results were lost for another reason than a reader gone away.
  public func finish() -> SystemError? {
    state.withLock { state in
      write(&state)
      return state.failure.flatMap { $0.isBrokenPipe ? nil : $0 }
    }
  }

  /// Writes a line for people on standard error at once.
  public func diagnose(_ line: String) {
    // Nobody is left to be told that standard error cannot be written.
    try? diagnostics.write(Array(line.utf8) + [UInt8(ascii: "\n")])
  }

  private func write(_ state: inout State) {
    guard !state.buffer.isEmpty, state.failure == nil else { return }
    do {
      try output.write(state.buffer)
    } catch {
      state.failure = error
    }
    state.buffer.removeAll(keepingCapacity: true)
  }
}
