internal import CNghttp2

/// The server's side of one HTTP/2 connection: bytes in, whole requests out; replies in, bytes out. Confined to one thread.
///
/// nghttp2's callbacks only note what happened; the connection handles it after the library's call has returned, since
/// the library may not be called from within itself (https://nghttp2.org/documentation/programmers-guide.html).
@safe final class NGHTTP2ServerSession {
  let connection: UInt64
  let listener: Int
  /// Requests received whole since the list was last emptied.
  var complete: [ServerRequest] = []
  /// Violations since the list was last emptied.
  var violations: [ServerViolation] = []
  /// How many streams are open.
  private(set) var openStreams = 0

  private let configuration: ServerConfiguration
  private let raw: OpaquePointer
  private let nameValues = UnsafeMutablePointer<nghttp2_nv>.allocate(capacity: ServerReply.fieldLimit + 1)
  /// Every request object made for this connection: they live as long as the session that points to them.
  private var requests: [ServerRequest] = []
  private var idle: [ServerRequest] = []
  /// The request whose header block or body is coming in.
  private var current: ServerRequest?

  /// A session that has its first SETTINGS queued. Nil only when memory is out.
  init?(connection: UInt64, listener: Int, configuration: ServerConfiguration) {
    self.connection = connection
    self.listener = listener
    self.configuration = configuration
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    var session: OpaquePointer?
    guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, unsafe nghttp2_option_new(&options) == 0 else {
      unsafe nghttp2_session_callbacks_del(callbacks)
      return nil
    }
    defer {
      unsafe nghttp2_session_callbacks_del(callbacks)
      unsafe nghttp2_option_del(options)
    }
    unsafe Self.install(callbacks)
    // Closed streams are of no use here: priorities are not served.
    unsafe nghttp2_option_set_no_closed_streams(options, 1)
    guard unsafe nghttp2_session_server_new2(&session, callbacks, nil, options) == 0, let session = unsafe session
    else {
      return nil
    }
    unsafe raw = session
    unsafe nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    let limit = ServerSetting.maxHeaderListSize(UInt32(clamping: configuration.headerListLimitBytes))
    guard submit(settings: configuration.settings + [limit]) else { return nil }
  }

  deinit {
    unsafe nghttp2_session_del(raw)
    unsafe nameValues.deallocate()
  }

  /// Takes bytes from the client. False: the connection can only be closed.
  func receive(_ input: ServerInput, byteCount: Int) -> Bool {
    let bytes = unsafe input.bytes(byteCount)
    return unsafe nghttp2_session_mem_recv(raw, bytes.baseAddress, bytes.count) >= 0
  }

  /// Moves what is to be sent into `output` until that is full or nothing is left. False: the connection can only be
  /// closed.
  func fill(_ output: ServerOutput) -> Bool {
    while output.hasRoom {
      var data: UnsafePointer<UInt8>?
      let count = unsafe nghttp2_session_mem_send(raw, &data)
      guard count > 0, let start = unsafe data else { return count == 0 }
      unsafe output.append(UnsafeRawBufferPointer(start: start, count: count))
    }
    return true
  }

  /// Whether the library has nothing more to say or to hear: the connection is over.
  var isOver: Bool { unsafe nghttp2_session_want_read(raw) == 0 && nghttp2_session_want_write(raw) == 0 }

  /// Queues SETTINGS. False when a value is not allowed.
  @discardableResult
  func submit(settings: [ServerSetting]) -> Bool {
    let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.identifier), value: $0.value) }
    return unsafe nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count) == 0
  }

  /// Queues GOAWAY; `lastStream` nil names the last stream that was taken up.
  func submitGoAway(lastStream: Int32?, errorCode: UInt32, debugData: [UInt8]) {
    let last = unsafe lastStream ?? nghttp2_session_get_last_proc_stream_id(raw)
    // It fails for lack of memory or a stream id above an earlier GOAWAY's: then there is nothing to add to that one.
    _ = unsafe nghttp2_submit_goaway(
      raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), last, errorCode, debugData, debugData.count)
  }

  /// Queues the outcome of the request's reply, unless the client has closed the stream.
  func submitOutcome(of request: ServerRequest) {
    request.state = .answered
    guard !request.isGone else { return recycle(request) }
    switch request.reply.outcome {
    case .answer: submitAnswer(to: request)
    case .reset(let errorCode): reset(request, errorCode)
    case .silence: break
    }
  }

  private func submitAnswer(to request: ServerRequest) {
    let status = Self.digits(of: request.reply.status)
    let code = unsafe status.span.withUnsafeBufferPointer { digits in
      unsafe request.reply.bytes.withUnsafeBufferPointer { bytes in
        unsafe submitAnswer(to: request, status: digits, bytes: bytes)
      }
    }
    // The stream is unknown to the library or memory is out: the client must not wait for an answer.
    if code != 0 { reset(request, NGHTTP2_INTERNAL_ERROR.rawValue) }
  }

  private func submitAnswer(
    to request: ServerRequest, status: UnsafeBufferPointer<UInt8>, bytes: UnsafeBufferPointer<UInt8>
  ) -> Int32 {
    let name: StaticString = ":status"
    unsafe nameValues[0] = unsafe Self.pair(
      UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount), status, NGHTTP2_NV_FLAG_NONE)
    var count = 1
    for field in request.reply.fields {
      unsafe nameValues[count] = unsafe Self.pair(
        UnsafeBufferPointer(rebasing: bytes[field.name]), UnsafeBufferPointer(rebasing: bytes[field.value]),
        NGHTTP2_NV_FLAG_NO_INDEX)
      count += 1
    }
    // nghttp2 copies the pairs, so they need not outlive the call.
    guard !request.reply.body.isEmpty else {
      return unsafe nghttp2_submit_response(raw, request.stream, nameValues, count, nil)
    }
    var provider = unsafe nghttp2_data_provider()
    unsafe provider.source.ptr = Unmanaged.passUnretained(request).toOpaque()
    unsafe provider.read_callback = readBody
    return unsafe nghttp2_submit_response(raw, request.stream, nameValues, count, &provider)
  }

  private func reset(_ request: ServerRequest, _ errorCode: UInt32) {
    // It fails for lack of memory only; the client's own timeout then ends the stream.
    _ = unsafe nghttp2_submit_rst_stream(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), request.stream, errorCode)
  }

  private static func pair(
    _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, _ flags: nghttp2_nv_flag
  ) -> nghttp2_nv {
    unsafe nghttp2_nv(
      name: UnsafeMutablePointer(mutating: name.baseAddress), value: UnsafeMutablePointer(mutating: value.baseAddress),
      namelen: name.count, valuelen: value.count, flags: UInt8(flags.rawValue))
  }

  private static func digits(of status: Int) -> InlineArray<3, UInt8> {
    let zero = UInt8(ascii: "0")
    let code = min(max(status, 100), 999)
    return [zero + UInt8(code / 100), zero + UInt8(code / 10 % 10), zero + UInt8(code % 10)]
  }
}

// What the callbacks do: note it, and nothing else.
extension NGHTTP2ServerSession {
  fileprivate func beginHeaders(_ stream: Int32, isRequest: Bool) {
    guard isRequest else {
      // Trailers: the request stays the one it is, and the fields are dropped.
      current = nil
      return
    }
    let request = idle.popLast() ?? makeRequest()
    request.begin(connection: connection, listener: listener, stream: stream)
    openStreams += 1
    current = request
    unsafe nghttp2_session_set_stream_user_data(raw, stream, Unmanaged.passUnretained(request).toOpaque())
  }

  private func makeRequest() -> ServerRequest {
    let request = ServerRequest()
    requests.append(request)
    return request
  }

  fileprivate func field(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    guard let request = current else { return }
    // 32 bytes of overhead for each field: RFC 9113 section 6.5.2.
    request.headerListByteCount += name.count + value.count + 32
    guard request.headerListByteCount <= configuration.headerListLimitBytes else { return }
    let start = request.bytes.count
    unsafe request.bytes.append(contentsOf: name)
    let middle = request.bytes.count
    unsafe request.bytes.append(contentsOf: value)
    request.fields.append(
      ServerField(start: Int32(start), middle: Int32(middle), end: Int32(request.bytes.count)))
  }

  fileprivate func data(_ stream: Int32, _ bytes: UnsafeBufferPointer<UInt8>) {
    guard let request = request(of: stream) else { return }
    request.bodyByteCount += bytes.count
    let room = configuration.bodyLimitBytes - request.body.count
    unsafe request.body.append(contentsOf: bytes.prefix(room))
  }

  fileprivate func endStream(_ stream: Int32) {
    guard let request = request(of: stream), request.state == .receiving else { return }
    request.state = .waiting
    request.openStreams = openStreams
    complete.append(request)
  }

  fileprivate func closeStream(_ stream: Int32) {
    guard let request = request(of: stream) else { return }
    openStreams -= 1
    if request === current { current = nil }
    if request.state == .waiting { request.isGone = true } else { recycle(request) }
  }

  fileprivate func invalidFrame(_ isRequest: Bool, _ error: Int32) {
    if error == NGHTTP2_ERR_REFUSED_STREAM.rawValue {
      violations.append(.streamsBeforeSettings)
    } else if isRequest, openStreams >= acknowledgedStreamLimit {
      violations.append(.concurrentStreams)
    } else {
      violations.append(.protocolError)
    }
  }

  private var acknowledgedStreamLimit: Int {
    unsafe Int(nghttp2_session_get_local_settings(raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS))
  }

  private func request(of stream: Int32) -> ServerRequest? {
    if let current, current.stream == stream { return current }
    guard let pointer = unsafe nghttp2_session_get_stream_user_data(raw, stream) else { return nil }
    return unsafe Unmanaged<ServerRequest>.fromOpaque(pointer).takeUnretainedValue()
  }

  private func recycle(_ request: ServerRequest) {
    request.reply.clear()
    idle.append(request)
  }

  private static func install(_ callbacks: OpaquePointer?) {
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
      guard let frame = unsafe frame, let session = unsafe session(context) else { return 0 }
      let isRequest = unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
      unsafe session.beginHeaders(frame.pointee.hd.stream_id, isRequest: isRequest)
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks) {
      _, _, name, nameLength, value, valueLength, _, context in
      unsafe session(context)?.field(
        UnsafeBufferPointer(start: name, count: nameLength), UnsafeBufferPointer(start: value, count: valueLength))
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, data, length, context in
      unsafe session(context)?.data(stream, UnsafeBufferPointer(start: data, count: length))
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
      guard let header = unsafe frame?.pointee.hd, header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else {
        return 0
      }
      if header.type == NGHTTP2_HEADERS.rawValue || header.type == NGHTTP2_DATA.rawValue {
        unsafe session(context)?.endStream(header.stream_id)
      }
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, context in
      unsafe session(context)?.closeStream(stream)
      return 0
    }
    unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, error, context in
      guard let frame = unsafe frame, let session = unsafe session(context) else { return 0 }
      let isRequest = unsafe frame.pointee.hd.type == NGHTTP2_HEADERS.rawValue
      session.invalidFrame(isRequest, error)
      return 0
    }
  }
}

/// The session behind a callback's context: it owns the library's session, so it lives.
private func session(_ context: UnsafeMutableRawPointer?) -> NGHTTP2ServerSession? {
  guard let context = unsafe context else { return nil }
  return unsafe Unmanaged<NGHTTP2ServerSession>.fromOpaque(context).takeUnretainedValue()
}

/// Gives the library the next piece of a reply's body.
private func readBody(
  _: OpaquePointer?, _: Int32, _ buffer: UnsafeMutablePointer<UInt8>?, _ length: Int,
  _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
  _: UnsafeMutableRawPointer?
) -> Int {
  guard let pointer = unsafe source?.pointee.ptr, let buffer = unsafe buffer, let flags = unsafe flags else {
    return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
  }
  let request = unsafe Unmanaged<ServerRequest>.fromOpaque(pointer).takeUnretainedValue()
  let body = request.reply.body
  let count = min(length, body.count - request.sentByteCount)
  unsafe body.withUnsafeBufferPointer { bytes in
    guard let start = bytes.baseAddress else { return }
    unsafe buffer.update(from: start + request.sentByteCount, count: count)
  }
  request.sentByteCount += count
  if request.sentByteCount == body.count { unsafe flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
  return count
}
