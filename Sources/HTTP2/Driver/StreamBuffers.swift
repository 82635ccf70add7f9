internal import EventLoop
internal import OpenSSL

/// Where decrypted bytes are received; one per loop, since each read is handled before the next.
@safe final class InputBuffer {
  // A read gives at most one TLS record.
  static let capacity = 16_384
  let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)

  deinit { unsafe bytes.deallocate() }

  func read(from stream: TLSStream) -> TLSProgress {
    unsafe stream.read(into: UnsafeMutableRawBufferPointer(start: bytes, count: Self.capacity))
  }
}

/// Frames that wait to be encrypted: collected so that many share a TLS record and a system call.
@safe final class OutputBuffer {
  /// A full TLS record: what is collected before it is written.
  static let recordLength = 16_384
  // A frame is produced whole; the largest header block that nghttp2 sends fits beside a record.
  private static let capacity = 131_072

  private let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
  private var start = 0
  private var end = 0
  /// Bytes that have ever been put in.
  private(set) var produced: UInt64 = 0
  /// Bytes that have ever been given to TLS.
  var written: UInt64 { produced - UInt64(count) }

  deinit { unsafe bytes.deallocate() }

  /// Bytes that wait.
  var count: Int { end - start }

  /// Whether a frame of `length` fits.
  func hasRoom(_ length: Int) -> Bool { Self.capacity - end >= length || Self.capacity - count >= length }

  func append(_ source: UnsafePointer<UInt8>, _ length: Int) {
    if Self.capacity - end < length {
      unsafe bytes.update(from: bytes + start, count: count)
      end -= start
      start = 0
    }
    precondition(Self.capacity - end >= length, "room was not asked for")
    unsafe (bytes + end).update(from: source, count: length)
    end += length
    produced += UInt64(length)
  }

  /// Writes what the socket takes, in full records and, when `all` is set, the rest. `.bytes` when it could write all that
  /// was asked.
  func flush(to stream: TLSStream, all: Bool) -> TLSProgress {
    while count >= (all ? 1 : Self.recordLength) {
      let progress = unsafe stream.write(UnsafeRawBufferPointer(start: bytes + start, count: count))
      guard case .bytes(let length) = progress else { return progress }
      start += length
    }
    if start == end {
      start = 0
      end = 0
    }
    return .bytes(0)
  }
}
