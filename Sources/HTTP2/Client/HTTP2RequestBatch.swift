public import Operations

/// Up to 1000 requests that share origin, template and deadlines; each has its own path and its own value of the
/// template's per-request field. All bytes lie in one array.
public struct HTTP2RequestBatch: Sendable {
  /// The most requests a batch takes.
  public static let capacity = 1000

  /// Where the parts of one request lie in ``bytes``.
  struct Entry: Sendable {
    /// Of the whole path; the field's value follows it.
    let offset: UInt32
    let pathLength: UInt16
    /// ``invalid`` marks an entry that cannot be sent.
    let valueLength: UInt16
    /// Of the request's own body, which follows the value; ``shared`` = it has the template's.
    var bodyLength = shared

    static let invalid = UInt16.max
    static let shared = UInt32.max
  }

  /// The caller's name for the batch, repeated in each response.
  public let id: UInt64
  /// Where to send.
  public let origin: HTTP2OriginID
  /// What the requests share.
  public let template: HTTP2RequestTemplate
  /// A request that no connection has taken by then comes back unsent.
  public let notAfter: MonotonicTime
  /// The time for an answer, from the moment a connection takes the request.
  public let responseTimeout: Duration

  var bytes: [UInt8] = []
  var entries: [Entry] = []

  /// An empty batch.
  public init(
    id: UInt64, origin: HTTP2OriginID, template: HTTP2RequestTemplate, notAfter: MonotonicTime = .distantFuture,
    responseTimeout: Duration = .seconds(20)
  ) {
    self.id = id
    self.origin = origin
    self.template = template
    self.notAfter = notAfter
    self.responseTimeout = responseTimeout
  }

  /// The number of requests.
  public var count: Int { entries.count }

  /// Makes room for requests of a given size, so that appending does not allocate.
  public mutating func reserve(requests: Int, bytesPerRequest: Int) {
    entries.reserveCapacity(requests)
    bytes.reserveCapacity(requests * (template.pathPrefix.count + bytesPerRequest))
  }

  /// Adds a request: `pathSuffix` follows the template's path prefix, `value` is that of the per-request field (empty and
  /// unsent when the template has none), `body` the request's own in place of the template's.
  ///
  /// A request whose parts hold bytes that HTTP forbids there is taken all the same and comes back unsent
  /// (``HTTP2Failure/Kind/invalidRequest``). At most ``capacity`` requests.
  public mutating func append(pathSuffix: Span<UInt8>, value: Span<UInt8>, body: [UInt8]? = nil) {
    precondition(entries.count < Self.capacity, "a batch takes \(Self.capacity) requests")
    let offset = UInt32(bytes.count)
    let pathLength = template.pathPrefix.count + pathSuffix.count
    guard pathLength < 32_768, value.count < 32_768, Self.isVisible(pathSuffix), Self.isVisible(value) else {
      entries.append(Entry(offset: offset, pathLength: 0, valueLength: Entry.invalid))
      return
    }
    bytes.append(contentsOf: template.pathPrefix)
    bytes.append(pathSuffix)
    bytes.append(value)
    var entry = Entry(offset: offset, pathLength: UInt16(pathLength), valueLength: UInt16(value.count))
    if let body {
      bytes.append(contentsOf: body)
      entry.bodyLength = UInt32(body.count)
    }
    entries.append(entry)
  }

  /// Adds a request whose parts are arrays.
  public mutating func append(pathSuffix: [UInt8], value: [UInt8] = [], body: [UInt8]? = nil) {
    append(pathSuffix: pathSuffix.span, value: value.span, body: body)
  }

  /// Visible ASCII alone: safe in a path and in a field value. Written so that the compiler can vectorize it.
  private static func isVisible(_ bytes: Span<UInt8>) -> Bool {
    var bad: UInt8 = 0
    for index in bytes.indices { bad |= bytes[index] &- 0x21 > 0x5d ? 1 : 0 }
    return bad == 0
  }
}
