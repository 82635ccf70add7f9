internal import CNghttp2

// What the callbacks do: note it, and nothing else.
extension NGHTTP2ServerSession {
  func beginRequest(_ stream: Int32) {
    if let goAway {
      if goAway.isKnown { violations.append(.afterGoAway) }
      guard takesUp(stream) else { return unsafe context.pointee.current = nil }
    }
    let request = idle.popLast() ?? makeRequest()
    unsafe request.slot.pointee.begin(stream: stream)
    hasOpenedStream = true
    unsafe context.pointee.openStreams += 1
    unsafe context.pointee.mostOpenStreams = max(context.pointee.mostOpenStreams, context.pointee.openStreams)
    unsafe context.pointee.current = request.slot
    unsafe nghttp2_session_set_stream_user_data(raw, stream, request.slot)
  }

  private func makeRequest() -> ServerRequest {
    let request = ServerRequest(connection: connection, listener: listener, configuration: configuration)
    requests.append(request)
    return request
  }

  /// The fields are there and a body follows.
  func beginBody(_ slot: UnsafeMutablePointer<ServerStreamSlot>) {
    guard configuration.answersEarly, let request = unsafe slot.pointee.request else { return }
    unsafe begun.append(request.takeUnretainedValue())
  }

  /// Whether the body of a request is still coming in.
  func isReceiving(_ request: ServerRequest) -> Bool {
    unsafe request.slot.pointee.isOpen && request.slot.pointee.state == .receiving
  }

  /// Takes a request as whole before its body is.
  func take(_ request: ServerRequest) {
    unsafe request.slot.pointee.state = .waiting
  }

  func endRequest(_ slot: UnsafeMutablePointer<ServerStreamSlot>) {
    guard unsafe slot.pointee.state == .receiving, let request = unsafe slot.pointee.request else { return }
    guard unsafe takesUp(slot.pointee.stream) else { return unsafe slot.pointee.state = .answered }
    unsafe slot.pointee.state = .waiting
    unsafe complete.append(request.takeUnretainedValue())
  }

  func closeStream(_ slot: UnsafeMutablePointer<ServerStreamSlot>) {
    unsafe context.pointee.openStreams -= 1
    unsafe slot.pointee.isOpen = false
    if unsafe slot == context.pointee.current { unsafe context.pointee.current = nil }
    if unsafe slot.pointee.state == .waiting || slot.pointee.state == .replied {
      unsafe slot.pointee.isGone = true
    } else if let request = unsafe slot.pointee.request {
      unsafe recycle(request.takeUnretainedValue())
    }
  }

  func invalidFrame(isRequest: Bool, _ error: Int32) {
    if error == NGHTTP2_ERR_REFUSED_STREAM.rawValue {
      // Behind a later change of the settings such a stream was under way, and one stream needs no settings: that is
      // nobody's fault.
      if !knowsSettings, hasOpenedStream { violations.append(.streamsBeforeSettings) }
      hasOpenedStream = true
      return
    }
    hasNotedError = true
    // A faulty message has an error of its own.
    let isTooMany = isRequest && error == NGHTTP2_ERR_PROTO.rawValue && openStreams >= streamLimit.map(Int.init) ?? .max
    violations.append(isTooMany ? .concurrentStreams : .protocolError)
  }

  /// The library says GOAWAY by itself only when the client broke a rule; not every such case is an invalid frame to it.
  func sentGoAway(errorCode: UInt32) {
    guard errorCode != NGHTTP2_NO_ERROR.rawValue, !hasNotedError else { return }
    hasNotedError = true
    violations.append(.protocolError)
  }

  func settingsAcknowledged() {
    knowsSettings = true
    let limit = unsafe nghttp2_session_get_local_settings(raw, NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE)
    headerListLimit = min(Int(limit), configuration.headerListLimitBytes)
  }

  func recycle(_ request: ServerRequest) {
    request.reply.clear()
    idle.append(request)
  }
}
