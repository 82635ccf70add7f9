import OpenSSL

/// Bytes of one connection on their way to the socket: collected so that many frames share one TLS record and one write.
@safe final class ServerOutput {
  /// Filling stops here; a frame more may follow, so there is room for one of the largest size behind it.
  private static let fillLimit = 48 * 1024
  /// The most bytes of one frame.
  static let pieceLimit = 16384 + 9
  private static let capacity = fillLimit + pieceLimit

  private let storage = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 16)
  private var start = 0
  private var end = 0

  deinit { unsafe storage.deallocate() }

  /// Whether another frame may be added.
  var hasRoom: Bool { end < Self.fillLimit }
  /// Whether everything is sent.
  var isEmpty: Bool { start == end }

  /// Adds one frame; only when there is room.
  func append(_ bytes: UnsafeRawBufferPointer) {
    precondition(end + bytes.count <= Self.capacity)
    guard let source = bytes.baseAddress else { return }
    unsafe storage.advanced(by: end).copyMemory(from: source, byteCount: bytes.count)
    end += bytes.count
  }

  /// Writes everything, or as much as the socket takes.
  func send(to stream: TLSStream) -> SendResult {
    while !isEmpty {
      switch unsafe stream.write(UnsafeRawBufferPointer(start: storage + start, count: end - start)) {
      case .bytes(let count): start += count
      case .wantRead, .wantWrite: return .blocked
      case .closed, .failed: return .closed
      }
    }
    start = 0
    end = 0
    return .sent
  }

  /// What came of an attempt to write.
  enum SendResult {
    /// Everything is with the kernel.
    case sent
    /// The rest waits for the socket.
    case blocked
    /// The connection is gone.
    case closed
  }
}
