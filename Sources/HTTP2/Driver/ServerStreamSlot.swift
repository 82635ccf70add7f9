/// The memory of one stream of a server: its request as it comes in. Used again for a later stream of the connection.
///
/// It lies behind a pointer, so that the callbacks that run for every field touch neither reference counts nor exclusivity
/// checks. Owned by its ``ServerRequest``; only the loop's thread touches it.
@unsafe struct ServerStreamSlot {
  /// Where the stream is in its life.
  enum State {
    case receiving
    /// Received whole.
    case waiting
    /// The handler has filled in the reply, and its time has not come.
    case replied
    /// Nothing but the library's own work is left.
    case answered
  }

  var request: Unmanaged<ServerRequest>?
  var stream: Int32 = 0
  var state = State.receiving
  /// The stream was closed while its request was ``State/waiting`` or ``State/replied``.
  var isGone = false
  /// The library knows the stream.
  var isOpen = false
  /// The size of the fields as RFC 9113 section 6.5.2 counts it for SETTINGS_MAX_HEADER_LIST_SIZE; it may pass the limit,
  /// and what lies beyond is not kept.
  var headerListByteCount = 0
  var bodyByteCount = 0
  /// How much of the reply's body the library has taken.
  var sentByteCount = 0

  private(set) var fieldCount = 0
  let fields: UnsafeMutablePointer<ServerField>
  private(set) var byteCount = 0
  let bytes: UnsafeMutablePointer<UInt8>
  private let headerListLimit: Int
  private(set) var bodyCount = 0
  private(set) var body: UnsafeMutablePointer<UInt8>
  private var bodyCapacity = 1024
  private let bodyLimit: Int

  init(_ configuration: ServerConfiguration) {
    unsafe headerListLimit = configuration.headerListLimitBytes
    unsafe bodyLimit = configuration.bodyLimitBytes
    // Each field counts 32 bytes more than it has, so that many fit.
    unsafe fields = .allocate(capacity: headerListLimit / 32 + 1)
    unsafe bytes = .allocate(capacity: headerListLimit)
    unsafe body = .allocate(capacity: bodyCapacity)
  }

  func deallocate() {
    unsafe fields.deallocate()
    unsafe bytes.deallocate()
    unsafe body.deallocate()
  }

  /// Makes the memory ready for another stream.
  mutating func begin(stream: Int32) {
    unsafe self.stream = stream
    unsafe state = .receiving
    unsafe isGone = false
    unsafe isOpen = true
    unsafe headerListByteCount = 0
    unsafe bodyByteCount = 0
    unsafe sentByteCount = 0
    unsafe fieldCount = 0
    unsafe byteCount = 0
    unsafe bodyCount = 0
  }

  /// Keeps a field as long as the fields are within the limit.
  mutating func append(
    name: UnsafePointer<UInt8>, _ nameCount: Int, value: UnsafePointer<UInt8>, _ valueCount: Int
  ) {
    unsafe headerListByteCount += nameCount + valueCount + 32
    guard unsafe headerListByteCount <= headerListLimit else { return }
    let start = unsafe byteCount
    unsafe (bytes + start).update(from: name, count: nameCount)
    unsafe (bytes + start + nameCount).update(from: value, count: valueCount)
    unsafe byteCount += nameCount + valueCount
    unsafe fields[fieldCount] = ServerField(
      start: Int32(truncatingIfNeeded: start), middle: Int32(truncatingIfNeeded: start + nameCount),
      end: Int32(truncatingIfNeeded: byteCount))
    unsafe fieldCount += 1
  }

  /// Counts a piece of the body and keeps what is within the limit.
  mutating func append(body piece: UnsafePointer<UInt8>, _ count: Int) {
    unsafe bodyByteCount += count
    let kept = unsafe min(count, bodyLimit - bodyCount)
    if unsafe bodyCount + kept > bodyCapacity {
      let capacity = unsafe min(bodyLimit, max(bodyCount + kept, 2 * bodyCapacity))
      let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
      unsafe larger.update(from: body, count: bodyCount)
      unsafe body.deallocate()
      unsafe body = larger
      unsafe bodyCapacity = capacity
    }
    unsafe (body + bodyCount).update(from: piece, count: kept)
    unsafe bodyCount += kept
  }
}
