internal import CMicroHTTPD
internal import Glibc

/// Hands answers to libmicrohttpd.
enum Reply {
  private static let pieceBytes = 16 << 10

  /// Queues an answer; the request's connection must be in a callback.
  static func queue(_ answer: Answer, on connection: OpaquePointer, _ daemon: Daemon) -> MHD_Result {
    let made: OpaquePointer? =
      switch answer.body {
      case .bytes(let bytes):
        // Copied: the array need not outlive the call.
        unsafe bytes.withUnsafeBytes { bytes in
          unsafe MHD_create_response_from_buffer(
            bytes.count, UnsafeMutableRawPointer(mutating: bytes.baseAddress), .RESPMEM_MUST_COPY)
        }
      case .pieces(let next): unsafe PieceReader(next, connection, daemon).response(pieceBytes)
      }
    // No memory: the connection is closed.
    guard let response = unsafe made else { return .NO }
    defer { unsafe MHD_destroy_response(response) }
    for (name, value) in answer.fields { unsafe MHD_add_response_header(response, name, value) }
    if answer.closes { unsafe MHD_add_response_header(response, "Connection", "close") }
    return unsafe MHD_queue_response(connection, UInt32(answer.status), response)
  }
}

/// Feeds a body to libmicrohttpd a piece at a time; used on its thread, and by the task that fetches the next piece while the
/// connection is suspended.
@safe private final class PieceReader: @unchecked Sendable {
  private let next: @Sendable () async throws -> [UInt8]?
  private let connection: OpaquePointer
  private let daemon: Daemon
  private var piece: [UInt8] = []
  private var offset = 0
  private var hasEnded = false
  private var isBroken = false

  init(_ next: @escaping @Sendable () async throws -> [UInt8]?, _ connection: OpaquePointer, _ daemon: Daemon) {
    self.next = next
    unsafe self.connection = connection
    self.daemon = daemon
  }

  /// The response, which keeps the reader.
  func response(_ pieceBytes: Int) -> OpaquePointer? {
    let owner = unsafe Unmanaged.passRetained(self)
    let response = unsafe MHD_create_response_from_callback(
      body_of_unknown_size, pieceBytes,
      { owner, _, buffer, limit in
        guard let owner = unsafe owner, let buffer = unsafe buffer else { return broken_body }
        return unsafe Unmanaged<PieceReader>.fromOpaque(owner).takeUnretainedValue().read(
          into: UnsafeMutableRawBufferPointer(start: buffer, count: limit))
      }, owner.toOpaque(),
      { owner in
        guard let owner = unsafe owner else { return }
        unsafe Unmanaged<PieceReader>.fromOpaque(owner).release()
      })
    if unsafe response == nil { unsafe owner.release() }
    return unsafe response
  }

  private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    if isBroken { return broken_body }
    if offset < piece.count {
      let count = min(piece.count - offset, buffer.count)
      unsafe buffer.copyBytes(from: piece[offset..<(offset + count)])
      offset += count
      return count
    }
    if hasEnded { return end_of_body }
    unsafe daemon.suspend(connection) { await self.fetch() }
    return 0
  }

  private func fetch() async {
    do {
      let piece = try await next()
      hasEnded = piece == nil
      self.piece = piece ?? []
      offset = 0
    } catch {
      isBroken = true
    }
  }
}
