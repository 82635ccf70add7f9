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
  /// The longest payload of a frame that every peer takes (RFC 9113 section 6.5.2).
  static let frameLength = 16_384
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

  /// Puts one byte; room was asked for.
  func append(_ byte: UInt8) {
    unsafe withUnsafePointer(to: byte) { unsafe append($0, 1) }
  }

  /// Puts bytes; room was asked for.
  func append(_ source: [UInt8]) {
    unsafe source.withUnsafeBufferPointer { buffer in
      if let base = buffer.baseAddress { unsafe append(base, buffer.count) }
    }
  }

  /// Puts a string literal of HPACK without Huffman coding (RFC 7541 section 5.2); room was asked for.
  func appendString(_ source: UnsafePointer<UInt8>, _ length: Int) {
    if length < 127 {
      append(UInt8(length))
    } else {
      append(127)
      var rest = length - 127
      while rest >= 128 {
        append(UInt8(rest & 0x7f) | 0x80)
        rest >>= 7
      }
      append(UInt8(rest))
    }
    unsafe append(source, length)
  }

  /// The bytes that ``appendString(_:_:)`` puts.
  static func stringLength(_ length: Int) -> Int {
    var count = 1 + length
    if length >= 127 {
      var rest = length - 127
      while rest >= 128 {
        count += 1
        rest >>= 7
      }
      count += 1
    }
    return count
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
