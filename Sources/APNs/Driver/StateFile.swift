internal import Glibc
import PushCore

/// Small files of state: read whole, replaced whole. The calls block for as long as the local disk takes.
enum StateFile {
  /// State is some hundred bytes; more is no state of ours.
  private static let maximumByteCount = 64 * 1024

  /// Makes a directory and its parents, for the user alone; what exists stays as it is.
  static func makeDirectory(_ path: String) throws(StoreError) {
    var current = ""
    for component in path.split(separator: "/") {
      current += "/\(component)"
      if unsafe mkdir(current, 0o700) != 0, errno != EEXIST, !isDirectory(current) {
        throw failure("make the directory \(current)", errno)
      }
    }
  }

  /// The content; nil when there is no file.
  static func read(_ path: String) throws(StoreError) -> [UInt8]? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    if file < 0, errno == ENOENT { return nil }
    guard file >= 0 else { throw failure("read \(path)", errno) }
    defer { close(file) }
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while content.count <= maximumByteCount {
      let count = unsafe Glibc.read(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure("read \(path)", errno) }
      guard count > 0 else { break }
      content.append(contentsOf: buffer[0..<count])
    }
    return content
  }

  /// Replaces the content: whoever reads meanwhile, or after a power loss, sees the old or the new one, never part of
  /// one.
  static func replace(_ path: String, with content: [UInt8]) throws(StoreError) {
    let temporary = "\(path).new"
    let operation = "write \(path)"
    let file = unsafe open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw failure(operation, errno) }
    do {
      defer { close(file) }
      // The file may be left from a run with another mask.
      guard fchmod(file, 0o600) == 0 else { throw failure(operation, errno) }
      try write(content, to: file, operation)
      guard fsync(file) == 0 else { throw failure(operation, errno) }
    }
    guard unsafe rename(temporary, path) == 0 else { throw failure(operation, errno) }
  }

  private static func write(_ content: [UInt8], to file: Int32, _ operation: String)
    throws(StoreError)
  {
    var written = 0
    while written < content.count {
      let rest = Array(content[written...])
      let count = unsafe Glibc.write(file, rest, rest.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failure(operation, errno) }
      written += count
    }
  }

  private static func isDirectory(_ path: String) -> Bool {
    var status = stat()
    return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  fileprivate static func failure(_ operation: String, _ code: Int32) -> StoreError {
    let reason = unsafe String(cString: strerror(code))
    return switch code {
    case EACCES, EPERM, EROFS:
      StoreError(
        code: .notAllowed, operation: operation, underlying: reason,
        remedy:
          "Let the user of this process write there, or set XDG_STATE_HOME to a directory it owns")
    case ENOSPC, EDQUOT:
      StoreError(
        code: .temporary, operation: operation, underlying: reason, remedy: "Free space on the disk"
      )
    default:
      StoreError(
        code: .unavailable, operation: operation, underlying: reason,
        remedy: "Check the path, or set XDG_STATE_HOME to a directory that can be written")
    }
  }
}

/// An exclusive lock on a file, held until released; the kernel releases it when the process ends.
struct FileLock {
  private let file: Int32

  /// Takes the lock; nil when another holds it. Two locks of one process exclude each other too.
  init?(path: String) throws(StoreError) {
    let file = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard file >= 0 else { throw StateFile.failure("lock \(path)", errno) }
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      let code = errno
      if code == EINTR { continue }
      close(file)
      if code == EWOULDBLOCK { return nil }
      throw StateFile.failure("lock \(path)", code)
    }
    self.file = file
  }

  /// Gives the lock up. Once.
  func release() { close(file) }
}
