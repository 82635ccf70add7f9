import EventLoop
import OpenSSL

/// The bytes that came in, for one connection at a time; all connections of a server share it.
@safe final class ServerInput {
  /// What follows the bytes.
  enum End {
    /// Perhaps more.
    case more
    /// Nothing until the loop says so.
    case wait
    /// The end of the connection.
    case closed
  }

  private static let capacity = 64 * 1024

  private let storage = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 16)

  deinit { unsafe storage.deallocate() }

  /// Reads until the buffer has no room for a whole record or nothing is there.
  func fill(from stream: TLSStream) -> (count: Int, end: End) {
    var count = 0
    while Self.capacity - count >= 16384 {
      switch unsafe stream.read(into: UnsafeMutableRawBufferPointer(rebasing: storage[count...])) {
      case .bytes(let more): count += more
      case .wantRead, .wantWrite: return (count, .wait)
      case .closed, .failed: return (count, .closed)
      }
    }
    return (count, .more)
  }

  /// Reads what is there and forgets it. True: the connection has ended.
  func drop(from socket: Socket) -> Bool {
    while true {
      switch unsafe socket.read(into: storage) {
      case .bytes: continue
      case .wouldBlock: return false
      case .closed, .failed: return true
      }
    }
  }

  /// The first bytes read.
  func bytes(_ count: Int) -> UnsafeBufferPointer<UInt8> {
    unsafe UnsafeBufferPointer(rebasing: storage.assumingMemoryBound(to: UInt8.self)[..<count])
  }
}
