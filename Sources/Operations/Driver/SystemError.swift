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
  /// Better words than the system's for the code, if there are any.
  private let words: String?

  /// A failure with its `errno`.
  public init(_ operation: String, _ subject: String = "", code: Int32) {
    self.init(operation, subject, code: code, words: nil)
  }

  private init(_ operation: String, _ subject: String, code: Int32, words: String?) {
    self.operation = operation
    self.subject = subject
    self.code = code
    self.words = words
  }

  /// A pipe, socket or device where a file should be.
  static func noRegularFile(_ operation: String, _ subject: String) -> SystemError {
    SystemError(operation, subject, code: EINVAL, words: "it is no regular file but a pipe, socket or device")
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

  /// What is wrong: the system's sentence for the code, unless there is a better one.
  public var reason: String {
    if let words { return words }
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
  /// 77 when permission is lacking, 65 when a file is missing, too large or none, 75 for the rest: a full disk, a busy system.
  public var exitCode: ExitCode {
    switch code {
    case EACCES, EPERM: .notAllowed
    case ENOENT, ENOTDIR, EISDIR, EFBIG, EINVAL: .badData
    default: .temporaryFailure
    }
  }
}
