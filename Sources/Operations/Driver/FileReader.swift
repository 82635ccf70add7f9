import Glibc

/// Reads a file, or standard input, piece by piece: inputs of any size in bounded memory.
public final class FileReader {
  /// The most bytes of a piece.
  public static let pieceBytes = 1 << 16

  private let descriptor: Int32
  private let name: String
  private let ownsDescriptor: Bool

  /// Opens a file; `-` is standard input.
  public init(_ path: String) throws(SystemError) {
    name = path == "-" ? "standard input" : path
    ownsDescriptor = path != "-"
    descriptor = ownsDescriptor ? unsafe open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO
    if descriptor < 0 { throw .last("open", path) }
    // Known here already, before anything is made for what the file holds.
    if ownsDescriptor, try Files.status(of: path).isDirectory { throw SystemError("read", path, code: EISDIR) }
  }

  deinit {
    if ownsDescriptor { close(descriptor) }
  }

  /// The next bytes; empty at the end.
  public func next() throws(SystemError) -> [UInt8] {
    while true {
      var count = 0
      let piece = unsafe [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { buffer, initialized in
        unsafe count = read(descriptor, buffer.baseAddress, Self.pieceBytes)
        initialized = max(count, 0)
      }
      if count >= 0 { return piece }
      if errno != EINTR { throw .last("read", name) }
    }
  }
}
