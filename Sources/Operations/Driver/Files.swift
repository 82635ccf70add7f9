import CLinux
import Glibc

/// What is known of a file without opening it.
public struct FileStatus: Sendable, Equatable {
  /// The permission bits, such as `0o600`.
  public let mode: UInt32
  /// Whether it is a folder.
  public let isDirectory: Bool
  /// Whether it is a file with bytes of its own: no folder, pipe or device.
  public let isRegular: Bool
  /// Whether this process may read it.
  public let isReadable: Bool
  /// Whether this process may write it; of a folder: make files in it.
  public let isWritable: Bool

  /// Whether anybody but the owner has any permission.
  public var isOpenToOthers: Bool { mode & 0o077 != 0 }
}

/// Small files read whole: configuration, keys, payloads.
public enum Files {
  /// Looks at a file; links are followed.
  /// - Throws: ``SystemError``, with ``SystemError/isNotFound`` when there is none.
  public static func status(of path: String) throws(SystemError) -> FileStatus {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { throw .last("read", path) }
    return FileStatus(
      mode: UInt32(status.st_mode) & 0o7777, isDirectory: status.st_mode & S_IFMT == S_IFDIR,
      isRegular: status.st_mode & S_IFMT == S_IFREG, isReadable: unsafe access(path, R_OK) == 0,
      isWritable: unsafe access(path, W_OK) == 0)
  }

  /// Reads a regular file of at most `limit` bytes. A pipe or device, which could be waited for without end, is refused.
  /// - Throws: ``SystemError``; a larger file is `EFBIG`.
  public static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8] {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .last("read", path) }
    defer { close(descriptor) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .last("read", path) }
    switch status.st_mode & S_IFMT {
    case S_IFREG: break
    case S_IFDIR: throw SystemError("read", path, code: EISDIR)
    default: throw .noRegularFile("read", path)
    }
    return try read(descriptor, named: path, limit: limit)
  }

  /// Reads standard input to its end, at most `limit` bytes.
  /// - Throws: ``SystemError``; more input is `EFBIG`.
  public static func readStandardInput(limit: Int) throws(SystemError) -> [UInt8] {
    try read(STDIN_FILENO, named: "standard input", limit: limit)
  }

  /// `path` as seen from `folder`: itself when it begins with a slash.
  public static func resolve(_ path: String, in folder: String) -> String {
    path.hasPrefix("/") || folder.isEmpty || folder == "." ? path : "\(folder)/\(path)"
  }

  /// The folder part of a path; empty when there is none.
  public static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "" }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The last part of a path.
  public static func name(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
  }

  private static func read(_ descriptor: Int32, named name: String, limit: Int) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = unsafe CLinux.read(descriptor, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw .last("read", name) }
      guard count > 0 else { return bytes }
      bytes += buffer[..<count]
      guard bytes.count <= limit else { throw SystemError("read", name, code: EFBIG) }
    }
  }
}
