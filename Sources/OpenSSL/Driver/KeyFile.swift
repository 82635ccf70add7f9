internal import Glibc

/// The content of a key file, read whole; what is wrong names the path and never the content.
public struct KeyFile: Sendable {
  /// No key is larger; a larger file is another kind of file.
  public static let maximumByteCount = 64 * 1024

  /// The content.
  public let bytes: [UInt8]
  /// Whether group or others may read the file: worth a warning, since whoever reads it can push to every device.
  public let isReadableByOthers: Bool

  /// Reads the file at `path`.
  public init(path: String) throws(PrivateKeyError) {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw Self.failure(path, errno) }
    defer { close(file) }
    var status = stat()
    guard unsafe fstat(file, &status) == 0 else { throw Self.failure(path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG || status.st_mode & S_IFMT == S_IFIFO else {
      throw PrivateKeyError(.fileUnreadable, "the key file \(path) is no file", "Give the path of the .p8 file")
    }
    isReadableByOthers = status.st_mode & 0o077 != 0 && status.st_mode & S_IFMT == S_IFREG
    bytes = try Self.content(of: file, path)
  }

  private static func content(of file: Int32, _ path: String) throws(PrivateKeyError) -> [UInt8] {
    var content: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = unsafe read(file, &buffer, buffer.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw failure(path, errno) }
      guard count > 0 else { return content }
      content.append(contentsOf: buffer[0..<count])
      guard content.count <= maximumByteCount else {
        throw PrivateKeyError(
          .fileUnreadable, "the key file \(path) is larger than \(maximumByteCount) bytes, so it is no key")
      }
    }
  }

  private static func failure(_ path: String, _ code: Int32) -> PrivateKeyError {
    if code == ENOENT || code == ENOTDIR {
      return PrivateKeyError(
        .fileNotFound, "key file not found: \(path)", "Check the path; a relative one starts at the working directory")
    }
    let reason = unsafe String(cString: strerror(code))
    return PrivateKeyError(
      .fileUnreadable, "the key file \(path) cannot be read: \(reason)", "Let the user of this process read it")
  }
}
