internal import Glibc
import Operations

/// A file that lines are appended to, each with one write, so that whoever reads along sees whole lines only.
final class RequestLog: Sendable {
  private let descriptor: Int32
  private let path: String

  /// Opens the file, or creates it for its owner alone: it holds device tokens, provider tokens and payloads.
  init(path: String) throws(SystemError) {
    descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .last("open", path) }
    self.path = path
  }

  deinit { close(descriptor) }

  /// Appends a line.
  func append(_ line: [UInt8]) throws(SystemError) {
    var rest = line[...]
    while !rest.isEmpty {
      let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .last("write", path) }
      // Less than all is written only on a full disk or to a pipe.
      rest = rest.dropFirst(count)
    }
  }
}
