internal import CNghttp2

// Requests of a session, from their stream's opening to their end.

extension ClientSession {
  /// What became of a request given to ``open(_:)``.
  enum Opening {
    case opened
    /// The connection takes no further streams; the request is still the caller's.
    case exhausted
    /// It can never be sent like this; the request is still the caller's.
    case invalid(HTTP2Failure)
  }

  /// Opens a stream for a request; its frames come with the next ``produce()``.
  func open(_ request: RequestReference) -> Opening {
    let batch = unsafe request.batch
    let entry = unsafe batch.pointee.entries[Int(request.entry)]
    guard entry.valueLength != HTTP2RequestBatch.Entry.invalid else {
      return .invalid(failure(.invalidRequest, "the path or the field of the request holds a byte that HTTP forbids"))
    }
    let template = unsafe batch.pointee.template
    if let problem = sizeProblem(template, entry) { return .invalid(problem) }
    var taken = request
    taken.attempts += 1
    taken.connection = number
    taken.takenAt = now
    let (deadline, overflow) = unsafe now.addingReportingOverflow(batch.pointee.timeout)
    let isShared = entry.bodyLength == HTTP2RequestBatch.Entry.shared
    let ownBody = Int(entry.offset) + Int(entry.pathLength) + Int(entry.valueLength)
    let bodyLength = isShared ? template.bodyLength : Int(entry.bodyLength)
    guard
      let slot = unsafe slab.take(
        StreamSlot(
          request: taken, deadline: overflow ? .max : deadline, producedBefore: output.produced,
          body: isShared ? template.body : batch.pointee.bytes + ownBody, bodyLength: bodyLength))
    else { return .exhausted }
    var provider = unsafe nghttp2_data_provider(source: nghttp2_data_source(ptr: slot), read_callback: provideBody)
    let id =
      unsafe bodyLength == 0
      ? nghttp2_submit_request(raw, nil, template.method, 1, nil, slot)
      : nghttp2_submit_request(raw, nil, template.method, 1, &provider, slot)
    guard id > 0 else {
      unsafe slab.release(slot)
      return .exhausted
    }
    unsafe slot.pointee.streamID = id
    return .opened
  }

  /// Why the request's header fields are too large, or nil.
  private func sizeProblem(_ template: HTTP2RequestTemplate, _ entry: HTTP2RequestBatch.Entry) -> HTTP2Failure? {
    let size = template.constantHeaderListSize + Int(entry.pathLength) + Int(entry.valueLength)
    guard size <= peerHeaderListLimit else {
      return failure(
        .headerListTooLarge, "the request's header fields count \(size) bytes, the peer takes \(peerHeaderListLimit)")
    }
    // 32 bytes a field are counted and not sent: far more than literals, lengths and table size updates add.
    guard size <= OutputBuffer.frameLength else {
      return failure(
        .invalidRequest,
        "the request's header fields count \(size) bytes, more than a frame of \(OutputBuffer.frameLength)")
    }
    return nil
  }

  /// Ends the requests whose time is over as unanswered and resets their streams.
  func cancelExpired() {
    guard slab.used > 0 else { return }
    for index in 0..<slab.untouched {
      let slot = unsafe slab.slots + index
      guard unsafe slot.pointee.inUse, unsafe !slot.pointee.reported, unsafe slot.pointee.deadline <= now else {
        continue
      }
      if unsafe slot.pointee.complete {
        unsafe report(slot)
      } else {
        health.timedOut()
        unsafe slot.pointee.reported = true
        unsafe slot.pointee.request.report(
          .unanswered(failure(.requestTimeout, "no answer in time on connection \(number)")), now: now, into: sink)
      }
      unsafe nghttp2_submit_rst_stream(
        raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), slot.pointee.streamID, NGHTTP2_CANCEL.rawValue)
    }
  }

  /// Ends everything that is open, when the connection is gone: what was never given to TLS goes to ``refused``, the rest
  /// is unanswered. The session must not be used afterwards.
  func abandon(_ failure: HTTP2Failure) {
    for index in 0..<slab.untouched {
      let slot = unsafe slab.slots + index
      guard unsafe slot.pointee.inUse else { continue }
      if unsafe slot.pointee.reported {
        unsafe slot.pointee.request.end()
      } else if unsafe slot.pointee.complete {
        unsafe report(slot)
        unsafe slot.pointee.request.end()
      } else if unsafe slot.pointee.producedBefore >= output.written {
        unsafe refused.append(slot.pointee.request)
      } else {
        // A peer that refuses our certificate has not looked at a request.
        let isUnprocessed = failure.kind == .certificateRefused
        unsafe slot.pointee.request.report(
          isUnprocessed ? .unsent(failure) : .unanswered(failure), now: now, into: sink)
        unsafe slot.pointee.request.end()
      }
      unsafe slab.release(slot)
    }
  }

  /// Reports a complete answer; the stream may still be open.
  func report(_ slot: UnsafeMutablePointer<StreamSlot>) {
    let status = unsafe slot.pointee.status
    unsafe slot.pointee.reported = true
    answered += 1
    health.answered(status)
    let outcome: HTTP2Response.Outcome =
      if let details = unsafe slot.pointee.details {
        .answered(status: status, body: details.body, fields: details.fields)
      } else {
        .answered(status: status, body: [], fields: [])
      }
    unsafe slot.pointee.request.report(outcome, now: now, into: sink)
  }

  func failure(_ kind: HTTP2Failure.Kind, _ reason: String) -> HTTP2Failure {
    HTTP2Failure(kind, endpoint: endpoint, reason: reason)
  }
}
