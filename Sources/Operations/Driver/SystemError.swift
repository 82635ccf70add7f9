import CLinux
import Glibc

/// A system call that failed: what was being done, to what, and the system's word for it.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What was being done, as after "cannot": "open".
  public let operation: String
  /// The path or name it was done to; empty when there is none.
  public let subject: String
  /// `errno`.
  public let code: Int32

  /// A failure with its `errno`.
  public init(_ operation: String, _ subject: String = "", code: Int32) {
    self.operation = operation
    self.subject = subject
    self.code = code
  }

  /// A failure with the calling thread's `errno`, to be made right after the call.
  public static func last(_ operation: String, _ subject: String = "") -> SystemError {
    SystemError(operation, subject, code: errno)
  }

  /// Whether a pipe or socket has no reader any more.
  public var isBrokenPipe: Bool { code == EPIPE }
  /// Whether the file does not exist.
  public var isNotFound: Bool { code == ENOENT || code == ENOTDIR }
  /// Whether permission is lacking.
  public var isNotAllowed: Bool { code == EACCES || code == EPERM }
  /// Whether the disk or a quota is full.
  public var isFull: Bool { code == ENOSPC || code == EDQUOT }

  /// The system's sentence for the code.
  public var reason: String {
    var buffer = [CChar](repeating: 0, count: 128)
    guard unsafe strerror_r(code, &buffer, buffer.count) == 0 else { return "error \(code)" }
    let text = buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return String(decoding: text, as: UTF8.self)
  }

  /// What could not be done, to what, and why.
  public var description: String {
    subject.isEmpty ? "cannot \(operation): \(reason)" : "cannot \(operation) '\(subject)': \(reason)"
  }
}

extension SystemError: ExitCodeProviding {
  /// 77 when permission is lacking, 65 when a file is missing, 75 for the rest: a full disk, a busy system.
  public var exitCode: ExitCode {
    if isNotAllowed { return .notAllowed }
    return isNotFound ? .badData : .temporaryFailure
  }
}
