/// Where a header field lies in the bytes of its request or reply.
struct ServerField {
  let start: Int32
  let middle: Int32
  let end: Int32

  /// The bytes of the name.
  var name: Range<Int> { Int(start)..<Int(middle) }
  /// The bytes of the value.
  var value: Range<Int> { Int(middle)..<Int(end) }
}
