import Operations

/// The content of a key file, read whole; what is wrong names the path and never the content.
public struct KeyFile: Sendable {
  /// No key is larger; a larger file is another kind of file.
  public static let maximumByteCount = 64 * 1024

  /// The content.
  public let bytes: [UInt8]
  /// Reads the file at `path`.
  public init(path: String) throws(PrivateKeyError) {
    do {
      bytes = try Files.read(path, limit: Self.maximumByteCount)
    } catch {
      throw Self.failure(path, error)
    }
  }

  private static func failure(_ path: String, _ error: SystemError) -> PrivateKeyError {
    if error.isNotFound {
      return PrivateKeyError(
        .fileNotFound, "key file not found: \(path)", "Check the path; a relative one starts at the working directory")
    }
    return PrivateKeyError(
      error.isNotAllowed ? .fileForbidden : .fileUnreadable, "the key file \(path) cannot be read: \(error.reason)",
      "Give the path of the .p8 file, and let the user of this process read it")
  }
}
