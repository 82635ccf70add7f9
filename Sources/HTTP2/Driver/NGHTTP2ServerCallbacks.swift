internal import CNghttp2

extension NGHTTP2ServerSession {
  /// Sets the callbacks: each finds the session or the stream's slot, notes what happened, and returns.
  static func install(_ callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
      guard let frame = unsafe frame, let context = unsafe callbackContext(context) else { return 0 }
      if unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
        unsafe context.pointee.session?.takeUnretainedValue().beginRequest(frame.pointee.hd.stream_id)
      } else {
        // Trailers: their fields belong to no request.
        unsafe context.pointee.current = nil
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameCount, value, valueCount, _, context in
      guard let slot = unsafe callbackContext(context)?.pointee.current, let name = unsafe name,
        let value = unsafe value
      else { return 0 }
      unsafe slot.pointee.append(name: name, nameCount, value: value, valueCount)
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
      session, _, stream, data, count, context in
      guard let slot = unsafe slot(of: stream, session, context), let data = unsafe data else { return 0 }
      unsafe slot.pointee.append(body: data, count)
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
      guard let frame = unsafe frame, let owner = unsafe callbackContext(context)?.pointee.session else { return 0 }
      let header = unsafe frame.pointee.hd
      switch UInt32(header.type) {
      case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
        guard let slot = unsafe slot(of: header.stream_id, session, context) else { return 0 }
        if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
          unsafe owner.takeUnretainedValue().endRequest(slot)
        } else if header.type == NGHTTP2_HEADERS.rawValue {
          unsafe owner.takeUnretainedValue().beginBody(slot)
        }
      case NGHTTP2_SETTINGS.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
        unsafe owner.takeUnretainedValue().settingsAcknowledged()
      case NGHTTP2_PING.rawValue where header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0:
        unsafe owner.takeUnretainedValue().pingAcknowledged(frame.pointee.ping.opaque_data.0)
      default: break
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, stream, _, context in
      guard let slot = unsafe slot(of: stream, session, context) else { return 0 }
      unsafe callbackContext(context)?.pointee.session?.takeUnretainedValue().closeStream(slot)
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { _, frame, context in
      guard let frame = unsafe frame, unsafe frame.pointee.hd.type == NGHTTP2_GOAWAY.rawValue else { return 0 }
      let errorCode = unsafe frame.pointee.goaway.error_code
      unsafe callbackContext(context)?.pointee.session?.takeUnretainedValue().sentGoAway(errorCode: errorCode)
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, error, context in
      guard let frame = unsafe frame, let context = unsafe callbackContext(context) else { return 0 }
      let isRequest = unsafe frame.pointee.hd.type == NGHTTP2_HEADERS.rawValue
      unsafe context.pointee.session?.takeUnretainedValue().invalidFrame(isRequest: isRequest, error)
      return 0
    }
  }
}

private func callbackContext(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<CallbackContext>? {
  unsafe context?.assumingMemoryBound(to: CallbackContext.self)
}

/// The slot of a stream; most callbacks are about the one that is coming in.
private func slot(
  of stream: Int32, _ session: OpaquePointer?, _ context: UnsafeMutableRawPointer?
) -> UnsafeMutablePointer<ServerStreamSlot>? {
  if let current = unsafe callbackContext(context)?.pointee.current, unsafe current.pointee.stream == stream {
    return unsafe current
  }
  return unsafe nghttp2_session_get_stream_user_data(session, stream)?.assumingMemoryBound(to: ServerStreamSlot.self)
}

/// Gives the library the next piece of a reply's body.
func readBody(
  _: OpaquePointer?, _: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: Int,
  _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
  _: UnsafeMutableRawPointer?
) -> Int {
  guard let slot = unsafe source?.pointee.ptr?.assumingMemoryBound(to: ServerStreamSlot.self),
    let request = unsafe slot.pointee.request?.takeUnretainedValue(), let buffer = unsafe buffer,
    let flags = unsafe flags
  else { return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue) }
  // Nobody ever resumes it.
  if request.reply.outcome == .fieldsOnly { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
  let body = request.reply.body
  let count = unsafe min(length, body.count - slot.pointee.sentByteCount)
  unsafe body.withUnsafeBufferPointer { bytes in
    guard let start = bytes.baseAddress else { return }
    unsafe buffer.update(from: start + slot.pointee.sentByteCount, count: count)
  }
  unsafe slot.pointee.sentByteCount += count
  if unsafe slot.pointee.sentByteCount == body.count { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
  return count
}
