/// One open stream of a connection. The slots of a connection lie in one slab; a slot's address is nghttp2's user data of
/// the stream.
@safe struct StreamSlot {
  var request: RequestReference
  var streamID: Int32 = 0
  var inUse = true
  /// The request has ended for the caller, though the stream is not closed yet.
  var reported = false
  /// The final HEADERS have come.
  var status: UInt16 = 0
  /// END_STREAM has come.
  var complete = false
  var deadline: UInt64
  /// The connection's count of produced bytes before this request: its HEADERS begin there or later.
  let producedBefore: UInt64
  let body: UnsafeMutablePointer<UInt8>
  let bodyLength: Int
  var bodySent = 0
  /// What a plain 200 does not have.
  var details: AnswerDetails?
}

/// The parts of an answer beyond its status.
final class AnswerDetails {
  var body: [UInt8] = []
  var fields: [HTTP2FieldValue] = []
}

/// The slots of a connection: allocated once, never moved.
@safe final class StreamSlab {
  let slots: UnsafeMutablePointer<StreamSlot>
  let capacity: Int
  private var free: [UInt32] = []
  /// Slots from here on have never been used.
  private(set) var untouched = 0
  private(set) var used = 0

  init(capacity: Int) {
    self.capacity = capacity
    unsafe slots = .allocate(capacity: capacity)
  }

  deinit {
    unsafe slots.deinitialize(count: untouched)
    unsafe slots.deallocate()
  }

  /// Takes a slot; nil when all are in use.
  func take(_ slot: StreamSlot) -> UnsafeMutablePointer<StreamSlot>? {
    used += 1
    if let index = free.popLast() {
      unsafe slots[Int(index)] = slot
      return unsafe slots + Int(index)
    }
    guard untouched < capacity else {
      used -= 1
      return nil
    }
    unsafe (slots + untouched).initialize(to: slot)
    untouched += 1
    return unsafe slots + (untouched - 1)
  }

  func release(_ slot: UnsafeMutablePointer<StreamSlot>) {
    unsafe slot.pointee.inUse = false
    unsafe slot.pointee.details = nil
    unsafe free.append(UInt32(slot - slots))
    used -= 1
  }
}
