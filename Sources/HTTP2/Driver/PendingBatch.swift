/// A submitted batch on the loop's thread: its bytes at a fixed place, and the count of its requests that have not ended.
/// Freed by the end of its last request.
@safe struct PendingBatch {
  let id: UInt64
  let template: HTTP2RequestTemplate
  let bytes: UnsafeMutablePointer<UInt8>
  let entries: UnsafeMutablePointer<HTTP2RequestBatch.Entry>
  let count: UInt32
  let notAfter: UInt64
  let timeout: UInt64
  /// The first entry that no connection has taken.
  var next: UInt32 = 0
  var unended: UInt32
}

/// One request of a pending batch: what queues and streams hold. A plain value without reference counting; it stays valid
/// until ``end()``, which is called exactly once per request.
@safe struct RequestReference {
  let batch: UnsafeMutablePointer<PendingBatch>
  let entry: UInt32
  /// How often it has been given to a connection.
  var attempts: UInt8 = 0
  /// The connection it was last on, and since when.
  var connection: UInt32 = 0
  var takenAt: UInt64 = 0

  init(batch: UnsafeMutablePointer<PendingBatch>, entry: UInt32) {
    unsafe self.batch = unsafe batch
    self.entry = entry
  }

  var notAfter: UInt64 { unsafe batch.pointee.notAfter }

  /// Tells the caller how the request ended. Its bytes stay until ``end()``.
  func report(_ outcome: HTTP2Response.Outcome, now: UInt64, into sink: ResponseSink) {
    unsafe sink.append(
      HTTP2Response(
        batch: batch.pointee.id, entry: entry, connection: connection,
        latencyNanoseconds: attempts == 0 || now < takenAt ? 0 : now - takenAt, outcome: outcome))
  }

  /// Forgets the request; the last one frees the batch. Not before nghttp2 has let go of the request's bytes.
  func end() {
    unsafe batch.pointee.unended -= 1
    if unsafe batch.pointee.unended == 0 { unsafe Self.free(batch) }
  }

  static func make(_ batch: HTTP2RequestBatch) -> UnsafeMutablePointer<PendingBatch> {
    let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, batch.bytes.count))
    unsafe bytes.initialize(from: batch.bytes, count: batch.bytes.count)
    let entries = UnsafeMutablePointer<HTTP2RequestBatch.Entry>.allocate(capacity: batch.count)
    unsafe entries.initialize(from: batch.entries, count: batch.count)
    let pending = UnsafeMutablePointer<PendingBatch>.allocate(capacity: 1)
    unsafe pending.initialize(
      to: PendingBatch(
        id: batch.id, template: batch.template, bytes: bytes, entries: entries, count: UInt32(batch.count),
        notAfter: batch.notAfter.nanoseconds, timeout: batch.responseTimeout.wholeNanoseconds,
        unended: UInt32(batch.count)))
    return unsafe pending
  }

  private static func free(_ batch: UnsafeMutablePointer<PendingBatch>) {
    unsafe batch.pointee.bytes.deallocate()
    unsafe batch.pointee.entries.deallocate()
    unsafe batch.deinitialize(count: 1)
    unsafe batch.deallocate()
  }
}

/// The requests of an origin that wait for a stream, oldest first; those that come back from a connection go first.
@safe struct RequestQueue {
  private var returned: [RequestReference] = []
  private var batches: [UnsafeMutablePointer<PendingBatch>] = unsafe []
  private var firstBatch = 0
  /// The number of requests in it.
  private(set) var count = 0

  init() {}

  mutating func append(_ batch: HTTP2RequestBatch) {
    guard batch.count > 0 else { return }
    unsafe batches.append(RequestReference.make(batch))
    count += batch.count
  }

  mutating func putBack(_ request: RequestReference) {
    returned.append(request)
    count += 1
  }

  /// Takes the next request.
  mutating func popFirst() -> RequestReference? {
    if let request = returned.popLast() {
      count -= 1
      return request
    }
    guard unsafe firstBatch < batches.count else { return nil }
    let batch = unsafe batches[firstBatch]
    let request = unsafe RequestReference(batch: batch, entry: batch.pointee.next)
    unsafe batch.pointee.next += 1
    count -= 1
    if unsafe batch.pointee.next == batch.pointee.count { dropFirstBatch() }
    return request
  }

  /// Takes all requests that must not be sent any more at `now`.
  mutating func popExpired(_ now: UInt64) -> [RequestReference] {
    var expired = returned.filter { $0.notAfter <= now }
    if !expired.isEmpty { returned.removeAll { $0.notAfter <= now } }
    var kept: [UnsafeMutablePointer<PendingBatch>] = unsafe []
    for index in firstBatch..<(unsafe batches.count) {
      let batch = unsafe batches[index]
      guard unsafe batch.pointee.notAfter <= now else {
        unsafe kept.append(batch)
        continue
      }
      for entry in unsafe batch.pointee.next..<batch.pointee.count {
        unsafe expired.append(RequestReference(batch: batch, entry: entry))
      }
    }
    unsafe batches = unsafe kept
    firstBatch = 0
    count -= expired.count
    return expired
  }

  /// Takes all.
  mutating func popAll() -> [RequestReference] {
    var all: [RequestReference] = []
    all.reserveCapacity(count)
    while let request = popFirst() { all.append(request) }
    return all
  }

  private mutating func dropFirstBatch() {
    firstBatch += 1
    if unsafe firstBatch == batches.count {
      unsafe batches.removeAll(keepingCapacity: true)
      firstBatch = 0
    } else if firstBatch > 64 {
      unsafe batches.removeFirst(firstBatch)
      firstBatch = 0
    }
  }
}
