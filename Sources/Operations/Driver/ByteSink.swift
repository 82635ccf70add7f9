import CLinux
import Glibc

/// Where bytes go: a descriptor in the programs, memory in tests.
public protocol ByteSink: Sendable {
  /// Writes all of `bytes`.
  func write(_ bytes: [UInt8]) throws(SystemError)
  /// Whether a person reads along.
  var isTerminal: Bool { get }
}

/// A descriptor that the process has anyway; never closed here.
public struct DescriptorSink: ByteSink {
  private let descriptor: Int32
  /// Whether a person reads along.
  public let isTerminal: Bool

  /// Standard output.
  public static let standardOutput = DescriptorSink(descriptor: STDOUT_FILENO)
  /// Standard error.
  public static let standardError = DescriptorSink(descriptor: STDERR_FILENO)

  init(descriptor: Int32) {
    self.descriptor = descriptor
    isTerminal = isatty(descriptor) == 1
  }

  /// Writes all of `bytes`, in one write(2) unless the system takes less.
  public func write(_ bytes: [UInt8]) throws(SystemError) {
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe CLinux.write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      if count >= 0 {
        written += count
      } else if errno == EAGAIN {
        try waitUntilWritable()
      } else if errno != EINTR {
        throw .last("write to", descriptor == STDOUT_FILENO ? "standard output" : "standard error")
      }
    }
  }

  /// A descriptor that another process made non-blocking (a shared terminal or pipe) is waited for like any other.
  private func waitUntilWritable() throws(SystemError) {
    var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    if unsafe poll(&entry, 1, -1) < 0, errno != EINTR { throw .last("wait for", "standard output") }
  }
}

/// Keeps what is written, for tests.
public final class MemorySink: ByteSink {
  private let state: Lock<[UInt8]> = Lock([])
  private let failure: SystemError?
  /// Whether a person reads along, as the test wants it.
  public let isTerminal: Bool

  /// A sink that takes everything, or refuses everything with `failure`.
  public init(isTerminal: Bool = false, failure: SystemError? = nil) {
    self.isTerminal = isTerminal
    self.failure = failure
  }

  /// Keeps `bytes`, or refuses them.
  public func write(_ bytes: [UInt8]) throws(SystemError) {
    if let failure { throw failure }
    state.withLock { $0 += bytes }
  }

  /// Everything written so far.
  public var text: String { String(decoding: state.withLock { $0 }, as: UTF8.self) }
}
