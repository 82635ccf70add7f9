internal import CNghttp2

/// What a peer said with GOAWAY.
struct GoAway {
  let lastStreamID: Int32
  let code: UInt32
  /// The debug data as text, cut and with control characters replaced; may be empty.
  let text: String

  var summary: String {
    let name = HTTP2ErrorCode.name(code)
    return text.isEmpty ? "GOAWAY \(name)" : "GOAWAY \(name): \(text)"
  }
}

/// What a client's session is given.
struct ClientSessionLimits {
  var maximumStreams: Int
  var maximumBodyBytes: Int
  var firstStreamID: Int32
}

/// One nghttp2 client session: turns requests into frames and frames into responses. Knows no socket, no clock and no
/// pool. Confined to the loop's thread.
///
/// nghttp2 calls back during ``receive(_:count:)`` and ``produce()``. The callbacks touch single fields of this object
/// and append to lists; no access to it is held over a call into nghttp2, and they never call nghttp2 again.
@safe final class ClientSession {
  let number: UInt32
  let endpoint: String
  let watched: WatchedFields
  let sink: ResponseSink
  let limits: ClientSessionLimits
  let output: OutputBuffer
  let slab: StreamSlab
  let raw: OpaquePointer
  /// Makes the header blocks of requests; nghttp2's own are thrown away, see ``produce()``.
  var encoder = RequestHeaderEncoder()
  /// The stream whose HEADERS nghttp2 is about to produce.
  var headersSlot: UnsafeMutablePointer<StreamSlot>?

  /// The time of what is being received, for latencies; set by the owner.
  var now: UInt64 = 0
  /// The most streams the peer allows now, within our own limit. 1 until its SETTINGS come.
  var streamLimit = 1
  var settingsReceived = false
  /// The owner has not seen the last SETTINGS yet.
  var settingsAreNew = false
  /// SETTINGS came in the present ``receive(_:count:)``.
  var settingsChanged = false
  var peerHeaderListLimit = Int.max
  /// The peer's last GOAWAY.
  var goAway: GoAway?
  /// The owner has not seen ``goAway`` yet.
  var goAwayIsNew = false
  /// nghttp2's text about what the peer did wrong.
  var problem: String?
  /// Requests that the peer has certainly not processed, to be sent elsewhere.
  var refused: [RequestReference] = []
  var answered: UInt64 = 0
  var health = ConnectionHealth()
  // The last stream that was looked up.
  var lastStreamID: Int32 = 0
  var lastSlot: UnsafeMutablePointer<StreamSlot>?

  init?(
    number: UInt32, endpoint: String, watched: WatchedFields, sink: ResponseSink, output: OutputBuffer,
    limits: ClientSessionLimits
  ) {
    self.number = number
    self.endpoint = endpoint
    self.watched = watched
    self.sink = sink
    self.output = output
    self.limits = limits
    slab = StreamSlab(capacity: limits.maximumStreams)
    var session: OpaquePointer?
    var options: OpaquePointer?
    var callbacks: OpaquePointer?
    guard unsafe nghttp2_option_new(&options) == 0, unsafe nghttp2_session_callbacks_new(&callbacks) == 0 else {
      return nil
    }
    defer {
      unsafe nghttp2_option_del(options)
      unsafe nghttp2_session_callbacks_del(callbacks)
    }
    // Without it nghttp2 opens up to 100 streams before the peer has said how many it takes.
    unsafe nghttp2_option_set_peer_max_concurrent_streams(options, 1)
    unsafe nghttp2_option_set_no_closed_streams(options, 1)
    unsafe Self.setCallbacks(callbacks)
    guard unsafe nghttp2_session_client_new2(&session, callbacks, nil, options) == 0, let session = unsafe session
    else {
      return nil
    }
    unsafe raw = unsafe session
    unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    submitSettings()
  }

  deinit {
    // Its callbacks do not run here: streams that are still open are dropped silently, after ``abandon(_:)``.
    unsafe nghttp2_session_del(raw)
  }

  /// Streams that are open now.
  var openStreams: Int { slab.used }

  /// Whether nghttp2 wants neither to read nor to write: the connection is over.
  var isOver: Bool {
    unsafe nghttp2_session_want_read(raw) == 0 && nghttp2_session_want_write(raw) == 0 && output.count == 0
  }

  private func submitSettings() {
    unsafe nghttp2_session_set_next_stream_id(raw, limits.firstStreamID)
    var settings = [nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0)]
    unsafe nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), &settings, settings.count)
    // Many small answers share the connection's window; each stream's own stays at the default.
    unsafe nghttp2_session_set_local_window_size(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), 0, 4 << 20)
  }
}

// MARK: - Frames

extension ClientSession {
  /// Takes received bytes. Returns why the connection is of no further use, or nil.
  func receive(_ input: InputBuffer, count: Int) -> String? {
    let result = unsafe nghttp2_session_mem_recv(raw, input.bytes, count)
    if settingsChanged {
      settingsChanged = false
      readRemoteSettings()
    }
    guard result >= 0 else { return unsafe String(cString: nghttp2_strerror(Int32(truncatingIfNeeded: result))) }
    return nil
  }

  /// Moves frames into the output until there are none or a record is full. False when the connection is of no further
  /// use.
  ///
  /// nghttp2 gives one frame at a time. It believes that a request has a single field, `:method`: its HEADERS are replaced
  /// by those of ``encoder``, which knows that requests share nearly all of their fields. The stream's state, flow control
  /// and everything received are nghttp2's. (Its encoder would compress the shared fields again for each request, never
  /// index `authorization`, and cost twice as much as all the rest.)
  func produce() -> Bool {
    while output.count < OutputBuffer.recordLength {
      var data: UnsafePointer<UInt8>?
      let length = unsafe nghttp2_session_mem_send(raw, &data)
      guard length > 0, let data = unsafe data else { return length == 0 }
      if let slot = unsafe headersSlot {
        unsafe headersSlot = nil
        guard unsafe appendHeaders(slot, insteadOf: data, length) else { return false }
      } else {
        guard output.hasRoom(length) else { return false }
        unsafe output.append(data, length)
      }
    }
    return true
  }

  /// Puts a request's HEADERS into the output, with flags and stream of the frame that nghttp2 made.
  private func appendHeaders(
    _ slot: UnsafeMutablePointer<StreamSlot>, insteadOf frame: UnsafePointer<UInt8>, _ length: Int
  ) -> Bool {
    let batch = unsafe slot.pointee.request.batch
    let entry = unsafe batch.pointee.entries[Int(slot.pointee.request.entry)]
    let path = unsafe batch.pointee.bytes + Int(entry.offset)
    let pathLength = Int(entry.pathLength)
    let template = unsafe batch.pointee.template
    encoder.prepare(template)
    let valueLength = template.perRequestField == nil ? -1 : Int(entry.valueLength)
    let blockLength =
      encoder.head.count + 1 + OutputBuffer.stringLength(pathLength) + encoder.tail.count
      + (valueLength < 0 ? 0 : OutputBuffer.stringLength(valueLength))
    let isWholeFrame =
      unsafe length >= 9 && frame[3] == UInt8(NGHTTP2_HEADERS.rawValue)
      && frame[4] & UInt8(NGHTTP2_FLAG_END_HEADERS.rawValue) != 0
    guard isWholeFrame, blockLength <= OutputBuffer.frameLength, output.hasRoom(blockLength + 9) else { return false }
    output.append(UInt8(blockLength >> 16))
    output.append(UInt8(truncatingIfNeeded: blockLength >> 8))
    output.append(UInt8(truncatingIfNeeded: blockLength))
    unsafe output.append(frame + 3, 6)
    output.append(encoder.head)
    output.append(RequestHeaderEncoder.pathName)
    unsafe output.appendString(path, pathLength)
    output.append(encoder.tail)
    if valueLength >= 0 { unsafe output.appendString(path + pathLength, valueLength) }
    return true
  }

  /// Queues a PING.
  func ping() { unsafe nghttp2_submit_ping(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil) }

  /// Queues the final GOAWAY; nothing is received after it.
  func terminate() { unsafe nghttp2_session_terminate_session(raw, NGHTTP2_NO_ERROR.rawValue) }

  private func readRemoteSettings() {
    settingsReceived = true
    settingsAreNew = true
    let streams = unsafe nghttp2_session_get_remote_settings(raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    streamLimit = min(Int(streams), limits.maximumStreams)
    let size = unsafe nghttp2_session_get_remote_settings(raw, NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)
    peerHeaderListLimit = size == UInt32.max ? Int.max : Int(size)
  }
}
