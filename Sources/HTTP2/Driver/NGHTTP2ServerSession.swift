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
  /// Requests whose fields came since the list was last emptied and whose body had not; only if the server wants them.
  var begun: [ServerRequest] = []
  /// Violations since the list was last emptied.
  var violations: [ServerViolation] = []
  /// How many streams are open.
  var openStreams: Int { unsafe context.pointee.openStreams }

  /// The most streams that were open at once since this was last asked.
  func takeMostOpenStreams() -> Int {
    defer { unsafe context.pointee.mostOpenStreams = 0 }
    return unsafe context.pointee.mostOpenStreams
  }

  /// Nothing is sent; what there is to say waits.
  var isMuted = false
  /// How large the fields of a request may be by the settings that the client has acknowledged, in bytes.
  var headerListLimit: Int
  /// What the connection's GOAWAY said; nil: there was none.
  var goAway: GoAwayState?
  /// Frames in the order of their making, ahead of everything that the library still has.
  var ordered: [UInt8] = []
  /// Memory is out within the library: the connection can only be closed.
  var isBroken = false

  let configuration: ServerConfiguration
  let raw: OpaquePointer
  let context: UnsafeMutablePointer<CallbackContext>
  private let nameValues: UnsafeMutablePointer<nghttp2_nv>
  /// Every request object made for this connection: they live as long as the library's session, which points to them.
  var requests: [ServerRequest] = []
  var idle: [ServerRequest] = []
  /// The bytes last received broke a rule that is among the violations: a GOAWAY for it is no second one.
  var hasNotedError = false
  /// The client has acknowledged the first settings.
  var knowsSettings = false
  /// The client has opened a stream, refused or not.
  var hasOpenedStream = false

  /// A session that has its first SETTINGS queued. Nil only when memory is out or a setting's value is not allowed.
  init?(connection: UInt64, listener: Int, configuration: ServerConfiguration, greeting: ServerGreeting) {
    headerListLimit = configuration.headerListLimitBytes
    isMuted = greeting.settingsDelay != .zero
    self.connection = connection
    self.listener = listener
    self.configuration = configuration
    unsafe context = .allocate(capacity: 1)
    unsafe context.initialize(to: CallbackContext())
    unsafe nameValues = .allocate(capacity: ServerReply.fieldLimit + 1)
    guard let session = unsafe Self.makeSession(context, updatesWindows: greeting.updatesWindows) else {
      unsafe context.deallocate()
      unsafe nameValues.deallocate()
      return nil
    }
    unsafe raw = session
    unsafe context.pointee.session = Unmanaged.passUnretained(self)
    let limit = ServerSetting.maxHeaderListSize(UInt32(clamping: configuration.headerListLimitBytes))
    let usual = (configuration.settings + [limit]).filter { setting in
      !greeting.settings.contains { $0.identifier == setting.identifier }
    }
    guard submit(settings: usual + greeting.settings) else { return nil }
  }

  private static func makeSession(
    _ context: UnsafeMutablePointer<CallbackContext>, updatesWindows: Bool
  ) -> OpaquePointer? {
    var callbacks: OpaquePointer?
    var options: OpaquePointer?
    var session: OpaquePointer?
    defer {
      // Both take nil too.
      unsafe nghttp2_session_callbacks_del(callbacks)
      unsafe nghttp2_option_del(options)
    }
    guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0, unsafe nghttp2_option_new(&options) == 0 else {
      return nil
    }
    unsafe install(callbacks)
    // Closed streams are of no use here: priorities are not served.
    unsafe nghttp2_option_set_no_closed_streams(options, 1)
    if !updatesWindows { unsafe nghttp2_option_set_no_auto_window_update(options, 1) }
    guard unsafe nghttp2_session_server_new2(&session, callbacks, context, options) == 0 else { return nil }
    return unsafe session
  }

  deinit {
    unsafe nghttp2_session_del(raw)
    unsafe context.deallocate()
    unsafe nameValues.deallocate()
  }

  /// Takes bytes from the client. False: the connection can only be closed.
  func receive(_ input: ServerInput, byteCount: Int) -> Bool {
    hasNotedError = false
    if let goAway { self.goAway?.isKnown = goAway.isAcknowledged }
    let bytes = unsafe input.bytes(byteCount)
    return unsafe nghttp2_session_mem_recv(raw, bytes.baseAddress, bytes.count) >= 0
  }

  /// Moves what is to be sent into `output` until that is full or nothing is left. False: the connection can only be
  /// closed.
  func fill(_ output: ServerOutput) -> Bool {
    guard !isMuted else { return true }
    guard !isBroken else { return false }
    if !ordered.isEmpty { moveOrdered(to: output) }
    while output.hasRoom {
      var data: UnsafePointer<UInt8>?
      let count = unsafe nghttp2_session_mem_send(raw, &data)
      guard count > 0, let start = unsafe data else { return count == 0 }
      unsafe output.append(UnsafeRawBufferPointer(start: start, count: count))
    }
    return true
  }

  /// Whether there is nothing more to say or to hear: the connection is over.
  var isOver: Bool {
    guard !isMuted, ordered.isEmpty, unsafe nghttp2_session_want_write(raw) == 0 else { return false }
    return unsafe nghttp2_session_want_read(raw) == 0 || isDrained
  }

  /// The most streams that the client may have open by the settings that it has acknowledged; nil: no limit.
  var streamLimit: UInt32? {
    let limit = unsafe nghttp2_session_get_local_settings(raw, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    return limit > UInt32(Int32.max) ? nil : limit
  }

  /// Queues SETTINGS. False when a value is not allowed.
  @discardableResult
  func submit(settings: [ServerSetting]) -> Bool {
    let entries = settings.map { nghttp2_settings_entry(settings_id: Int32($0.identifier), value: $0.value) }
    return unsafe nghttp2_submit_settings(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), entries, entries.count) == 0
  }

  /// Queues the outcome of the request's reply, unless the client has closed the stream.
  func submitOutcome(of request: ServerRequest) {
    unsafe request.slot.pointee.state = .answered
    guard unsafe !request.slot.pointee.isGone else { return recycle(request) }
    guard takesUp(request.stream) else { return }
    switch request.reply.outcome {
    case .answer: submitAnswer(to: request)
    case .fieldsOnly: submitAnswer(to: request)
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
    guard !request.reply.body.isEmpty || request.reply.outcome == .fieldsOnly else {
      return unsafe nghttp2_submit_response(raw, request.stream, nameValues, count, nil)
    }
    var provider = unsafe nghttp2_data_provider()
    unsafe provider.source.ptr = UnsafeMutableRawPointer(request.slot)
    unsafe provider.read_callback = readBody
    return unsafe nghttp2_submit_response(raw, request.stream, nameValues, count, &provider)
  }

  func reset(_ request: ServerRequest, _ errorCode: UInt32) {
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

/// What the callbacks reach through the library's context pointer. It lives as long as its session, which owns the
/// library's session.
@unsafe struct CallbackContext {
  var session: Unmanaged<NGHTTP2ServerSession>?
  /// The stream whose fields or body are coming in.
  var current: UnsafeMutablePointer<ServerStreamSlot>?
  var openStreams = 0
  var mostOpenStreams = 0
}
