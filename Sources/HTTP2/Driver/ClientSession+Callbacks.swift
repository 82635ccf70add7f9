internal import CNghttp2

// Each callback finds the session, touches single fields of it and returns. A stream's slot is its user data; nil when the
// stream is already closed for us.

extension ClientSession {
  static func setCallbacks(_ callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, onHeader)
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, onDataChunk)
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, onFrame)
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, onStreamClose)
    unsafe nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, beforeFrame)
    unsafe nghttp2_session_callbacks_set_error_callback2(callbacks, onError)
  }

  /// The slot of a stream; that of the last header field is kept, so the fields of an answer cost one look-up.
  @inline(__always)
  fileprivate func slot(_ streamID: Int32) -> UnsafeMutablePointer<StreamSlot>? {
    if streamID == lastStreamID { return unsafe lastSlot }
    lastStreamID = streamID
    unsafe lastSlot = unsafe nghttp2_session_get_stream_user_data(raw, streamID)?.assumingMemoryBound(
      to: StreamSlot.self)
    return unsafe lastSlot
  }

  /// Bytes kept of the value of a watched field.
  private static let keptFieldBytes = 256

  fileprivate func headerField(
    _ slot: UnsafeMutablePointer<StreamSlot>, _ name: UnsafePointer<UInt8>, _ nameLength: Int,
    _ value: UnsafePointer<UInt8>, _ valueLength: Int
  ) {
    // nghttp2 lets exactly one pseudo field into a response: :status, three digits.
    if unsafe name[0] == UInt8(ascii: ":") {
      guard nameLength == 7, valueLength == 3 else { return }
      unsafe slot.pointee.status =
        unsafe UInt16(value[0] &- 48) &* 100 &+ UInt16(value[1] &- 48) &* 10 &+ UInt16(value[2] &- 48)
      return
    }
    let index = unsafe watched.index(name, nameLength, status: slot.pointee.status)
    guard index >= 0 else { return }
    let details = unsafe details(slot)
    // The first of a name counts, and no more than its beginning: what a peer repeats must not fill the memory.
    if details.fields.contains(where: { $0.name == watched.name(index) }) { return }
    let kept = min(valueLength, Self.keptFieldBytes)
    let text = unsafe String(decoding: UnsafeBufferPointer(start: value, count: kept), as: UTF8.self)
    details.fields.append(HTTP2FieldValue(name: watched.name(index), value: text))
  }

  fileprivate func body(_ slot: UnsafeMutablePointer<StreamSlot>, _ bytes: UnsafePointer<UInt8>, _ length: Int) {
    guard unsafe !slot.pointee.reported else { return }
    let details = unsafe details(slot)
    let kept = min(length, limits.maximumBodyBytes - details.body.count)
    if kept > 0 { unsafe details.body.append(contentsOf: UnsafeBufferPointer(start: bytes, count: kept)) }
  }

  private func details(_ slot: UnsafeMutablePointer<StreamSlot>) -> AnswerDetails {
    if let details = unsafe slot.pointee.details { return details }
    let details = AnswerDetails()
    unsafe slot.pointee.details = details
    return details
  }

  fileprivate func frame(_ frame: UnsafePointer<nghttp2_frame>) {
    let header = unsafe frame.pointee.hd
    switch UInt32(header.type) {
    case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
      guard UInt32(header.flags) & NGHTTP2_FLAG_END_STREAM.rawValue != 0, let slot = unsafe slot(header.stream_id)
      else { return }
      unsafe slot.pointee.complete = unsafe slot.pointee.status >= 200
    case NGHTTP2_SETTINGS.rawValue:
      guard UInt32(header.flags) & NGHTTP2_FLAG_ACK.rawValue == 0 else { return }
      settingsChanged = true
      unsafe limitHeaderTable(frame.pointee.settings)
    case NGHTTP2_GOAWAY.rawValue:
      let goaway = unsafe frame.pointee.goaway
      let bytes = unsafe UnsafeBufferPointer(start: goaway.opaque_data, count: goaway.opaque_data_len)
      goAway = unsafe GoAway(
        lastStreamID: goaway.last_stream_id, code: goaway.error_code, text: PeerText.readable(bytes))
      goAwayIsNew = true
    default: return
    }
  }

  /// Each value counts, also one that a later one in the same read takes back.
  private func limitHeaderTable(_ settings: nghttp2_settings) {
    for index in unsafe 0..<settings.niv
    where unsafe settings.iv[index].settings_id == Int32(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE.rawValue) {
      unsafe encoder.limitTable(to: settings.iv[index].value)
    }
  }

  fileprivate func aboutToSend(_ frame: UnsafePointer<nghttp2_frame>) {
    guard unsafe UInt32(frame.pointee.hd.type) == NGHTTP2_HEADERS.rawValue else { return }
    unsafe headersSlot = unsafe slot(frame.pointee.hd.stream_id)
  }

  fileprivate func streamClosed(_ slot: UnsafeMutablePointer<StreamSlot>, _ streamID: Int32, _ code: UInt32) {
    if streamID == lastStreamID {
      lastStreamID = 0
      unsafe lastSlot = nil
    }
    if unsafe slot.pointee.reported {
      unsafe slot.pointee.request.end()
    } else if unsafe slot.pointee.complete {
      unsafe report(slot)
      unsafe slot.pointee.request.end()
    } else if code == NGHTTP2_REFUSED_STREAM.rawValue, unsafe slot.pointee.status == 0 {
      unsafe refused.append(slot.pointee.request)
    } else {
      var reason = "the stream was reset with \(HTTP2ErrorCode.name(code))"
      if unsafe slot.pointee.status != 0 { reason += unsafe " after status \(slot.pointee.status)" }
      unsafe slot.pointee.request.report(.unanswered(failure(.streamReset(code), reason)), now: now, into: sink)
      unsafe slot.pointee.request.end()
    }
    unsafe slab.release(slot)
  }
}

private func session(_ context: UnsafeMutableRawPointer?) -> Unmanaged<ClientSession> {
  // Set once, before the first callback can come.
  unsafe Unmanaged.fromOpaque(context.unsafelyUnwrapped)
}

private func onHeader(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ name: UnsafePointer<UInt8>?, _ nameLength: Int,
  _ value: UnsafePointer<UInt8>?, _ valueLength: Int, _: UInt8, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame = unsafe frame, let name = unsafe name, let value = unsafe value else { return 0 }
  unsafe session(context)._withUnsafeGuaranteedRef { session in
    if let slot = unsafe session.slot(frame.pointee.hd.stream_id) {
      unsafe session.headerField(slot, name, nameLength, value, valueLength)
    }
  }
  return 0
}

private func onDataChunk(
  _: OpaquePointer?, _: UInt8, _ streamID: Int32, _ bytes: UnsafePointer<UInt8>?, _ length: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let bytes = unsafe bytes else { return 0 }
  unsafe session(context)._withUnsafeGuaranteedRef { session in
    if let slot = unsafe session.slot(streamID) { unsafe session.body(slot, bytes, length) }
  }
  return 0
}

private func onFrame(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame = unsafe frame else { return 0 }
  unsafe session(context)._withUnsafeGuaranteedRef { unsafe $0.frame(frame) }
  return 0
}

private func onStreamClose(
  _: OpaquePointer?, _ streamID: Int32, _ code: UInt32, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  unsafe session(context)._withUnsafeGuaranteedRef { session in
    if let slot = unsafe session.slot(streamID) { unsafe session.streamClosed(slot, streamID, code) }
  }
  return 0
}

private func beforeFrame(
  _: OpaquePointer?, _ frame: UnsafePointer<nghttp2_frame>?, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let frame = unsafe frame else { return 0 }
  unsafe session(context)._withUnsafeGuaranteedRef { unsafe $0.aboutToSend(frame) }
  return 0
}

private func onError(
  _: OpaquePointer?, _: Int32, _ text: UnsafePointer<CChar>?, _ length: Int, _ context: UnsafeMutableRawPointer?
) -> Int32 {
  guard let text = unsafe text else { return 0 }
  unsafe session(context)._withUnsafeGuaranteedRef { session in
    unsafe text.withMemoryRebound(to: UInt8.self, capacity: length) {
      session.problem = unsafe PeerText.readable(UnsafeBufferPointer(start: $0, count: length))
    }
  }
  return 0
}

/// Gives nghttp2 the next part of a request's body.
func provideBody(
  _: OpaquePointer?, _: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ capacity: Int,
  _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
  _: UnsafeMutableRawPointer?
) -> Int {
  guard let buffer = unsafe buffer, let flags = unsafe flags,
    let slot = unsafe source?.pointee.ptr?.assumingMemoryBound(to: StreamSlot.self)
  else {
    return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
  }
  let sent = unsafe slot.pointee.bodySent
  let length = unsafe min(capacity, slot.pointee.bodyLength - sent)
  unsafe buffer.update(from: slot.pointee.body + sent, count: length)
  unsafe slot.pointee.bodySent = sent + length
  if unsafe sent + length == slot.pointee.bodyLength { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
  return length
}
