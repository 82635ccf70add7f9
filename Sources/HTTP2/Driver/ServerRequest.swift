/// One request that a server received whole, with the reply to it. The object is used again for a later stream, so a
/// handler copies what it keeps. Confined to the server's loop.
@safe public final class ServerRequest {
  /// The connection's number, from 1.
  public let connection: UInt64
  /// Which of the server's listeners took the connection, from 0 in the order of ``HTTP2Server/listen(on:)``.
  public let listener: Int

  // Lives as long as this object, which the session keeps as long as nghttp2 knows the pointer.
  let slot: UnsafeMutablePointer<ServerStreamSlot>
  var reply = ServerReply()

  init(connection: UInt64, listener: Int, configuration: ServerConfiguration) {
    self.connection = connection
    self.listener = listener
    unsafe slot = .allocate(capacity: 1)
    unsafe slot.initialize(to: ServerStreamSlot(configuration))
    unsafe slot.pointee.request = Unmanaged.passUnretained(self)
  }

  deinit {
    unsafe slot.pointee.deallocate()
    unsafe slot.deinitialize(count: 1)
    unsafe slot.deallocate()
  }

  /// The stream's identifier.
  public var stream: Int32 { unsafe slot.pointee.stream }
  /// The size of the whole body.
  public var bodyByteCount: Int { unsafe slot.pointee.bodyByteCount }
  /// The beginning of the body, at most ``ServerConfiguration/bodyLimitBytes``.
  public var body: [UInt8] {
    unsafe Array(UnsafeBufferPointer(start: slot.pointee.body, count: slot.pointee.bodyCount))
  }

  /// The size of the fields as RFC 9113 section 6.5.2 counts it.
  var headerListByteCount: Int { unsafe slot.pointee.headerListByteCount }

  /// Calls `visit` with the name and the value of each field in the order of the request: pseudo fields first, repeated
  /// fields each by themselves.
  public func forEachField(_ visit: (_ name: Span<UInt8>, _ value: Span<UInt8>) -> Void) {
    let slot = unsafe self.slot
    for index in unsafe 0..<slot.pointee.fieldCount {
      let field = unsafe slot.pointee.fields[index]
      let name = unsafe UnsafeBufferPointer(start: slot.pointee.bytes + field.name.lowerBound, count: field.name.count)
      let value = unsafe UnsafeBufferPointer(
        start: slot.pointee.bytes + field.value.lowerBound, count: field.value.count)
      unsafe visit(name.span, value.span)
    }
  }
}
