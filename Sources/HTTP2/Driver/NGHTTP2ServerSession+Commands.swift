internal import CNghttp2

/// What a connection's last GOAWAY said.
struct GoAwayState {
  /// The last stream that is taken up.
  var lastStream: Int32
  /// Whether the connection is closed once the streams up to that one are over.
  var drains: Bool
  /// The client has acknowledged the PING before it.
  var isAcknowledged = false
  /// It did so with bytes that were read earlier than those of now: what comes now was sent in knowledge of the GOAWAY.
  var isKnown = false
}

// Frames that the library would not send, or not in this order, are made here and put behind everything queued before.
extension NGHTTP2ServerSession {
  /// The first byte of the PING before a GOAWAY; the seven others are alike.
  private static let goAwayPing = UInt8(ascii: "G")
  private static let plainPing = UInt8(ascii: "P")

  /// Whether the client was told to go away.
  var isGoingAway: Bool { goAway != nil }

  /// Whether the client was told to go away and every stream that was taken up is over.
  var isDrained: Bool {
    guard let goAway, goAway.drains else { return false }
    return !requests.contains { unsafe $0.slot.pointee.isOpen && $0.stream <= goAway.lastStream }
  }

  /// Queues GOAWAY, with a PING before it whose acknowledgment tells that the client knows; `lastStream` nil names the
  /// last stream that was taken up.
  ///
  /// The two share a record of TLS, so who has the one has the other. Behind the GOAWAY the PING would do harm: hyper-h2
  /// takes every frame there for a violation.
  /// The library's own function is of no use here: it refuses what a faulty server may send, and its sessions take up no
  /// stream at all after one.
  func submitGoAway(lastStream: Int32?, errorCode: UInt32, debugData: [UInt8], drains: Bool) {
    let last = unsafe lastStream ?? nghttp2_session_get_last_proc_stream_id(raw)
    append(frame: UInt8(NGHTTP2_PING.rawValue), stream: 0, [UInt8](repeating: Self.goAwayPing, count: 8))
    append(
      frame: UInt8(NGHTTP2_GOAWAY.rawValue), stream: 0,
      Self.bytes(UInt32(bitPattern: last)) + Self.bytes(errorCode) + debugData)
    // A second GOAWAY changes nothing in that the client knows of the first.
    let known = goAway ?? GoAwayState(lastStream: last, drains: drains)
    goAway = GoAwayState(
      lastStream: last, drains: drains, isAcknowledged: known.isAcknowledged, isKnown: known.isKnown)
  }

  /// Whether a stream is taken up in spite of a GOAWAY; what it left out stays without an answer (RFC 9113 section 6.8).
  func takesUp(_ stream: Int32) -> Bool { goAway.map { stream <= $0.lastStream } ?? true }

  /// The requests that have a reply and, being above the last stream, will never be answered.
  var leftOut: [ServerRequest] {
    requests.filter { unsafe $0.slot.pointee.state == .replied && !takesUp($0.stream) }
  }

  /// Queues PING.
  func submitPing() {
    append(frame: UInt8(NGHTTP2_PING.rawValue), stream: 0, [UInt8](repeating: Self.plainPing, count: 8))
  }

  func pingAcknowledged(_ firstByte: UInt8) {
    if firstByte == Self.goAwayPing { goAway?.isAcknowledged = true }
  }

  /// Queues RST_STREAM; for a stream that the library has forgotten too.
  func submitReset(stream: Int32, errorCode: UInt32) {
    moveQueued()
    if unsafe nghttp2_session_find_stream(raw, stream) == nil {
      append(frame: UInt8(NGHTTP2_RST_STREAM.rawValue), stream: stream, Self.bytes(errorCode))
    } else {
      // It fails for lack of memory only; the client's own timeout then ends the stream.
      _ = unsafe nghttp2_submit_rst_stream(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), stream, errorCode)
      moveQueued()
    }
  }

  /// Moves as much of ``ordered`` into `output` as fits.
  func moveOrdered(to output: ServerOutput) {
    while output.hasRoom, !ordered.isEmpty {
      let count = min(ordered.count, ServerOutput.pieceLimit)
      unsafe ordered.withUnsafeBytes { unsafe output.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
      ordered.removeFirst(count)
    }
  }

  private func append(frame type: UInt8, stream: Int32, _ payload: [UInt8]) {
    moveQueued()
    let count = Self.bytes(UInt32(payload.count))
    ordered += count[1...] + [type, 0] + Self.bytes(UInt32(bitPattern: stream)) + payload
  }

  /// Moves what the library can send now behind ``ordered``.
  private func moveQueued() {
    while true {
      var data: UnsafePointer<UInt8>?
      let count = unsafe nghttp2_session_mem_send(raw, &data)
      guard count > 0, let start = unsafe data else {
        if count < 0 { isBroken = true }
        return
      }
      unsafe ordered.append(contentsOf: UnsafeBufferPointer(start: start, count: count))
    }
  }

  /// The four bytes of a number in network order.
  private static func bytes(_ number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}
