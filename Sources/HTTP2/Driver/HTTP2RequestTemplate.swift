internal import CNghttp2

/// A request header field whose value all requests of a template share.
public struct HTTP2Field: Sendable, Hashable {
  /// How the field may be compressed (RFC 7541 section 6.2).
  public enum Indexing: Sendable, Hashable {
    /// As HPACK's encoder thinks best: a repeated value costs one byte.
    case automatic
    /// Never in the dynamic table, for secrets and for values that differ with each request.
    case never
  }

  /// The name, in lower case.
  public let name: String
  /// The value.
  public let value: String
  /// How it may be compressed.
  public let indexing: Indexing

  /// A field by its parts.
  public init(_ name: String, _ value: String, indexing: Indexing = .automatic) {
    self.name = name
    self.value = value
    self.indexing = indexing
  }
}

/// A template cannot be sent as it is.
public struct HTTP2TemplateError: Error, Sendable, CustomStringConvertible {
  /// Which part is wrong, and how; never its value.
  public let description: String
}

/// What the requests of one or many batches share: everything but the end of the path and one field. Made once, used by
/// any number of connections and threads; it keeps its bytes in one place so that a request costs no copy of them.
@safe public final class HTTP2RequestTemplate: Sendable {
  /// The path up to the part that each request appends.
  public let pathPrefix: [UInt8]
  /// The size of the shared body in bytes.
  public let bodyLength: Int

  /// The pseudo fields without `:path`, in the order they are sent.
  let pseudoFields: [HTTP2Field]
  /// The other fields that all requests share.
  let otherFields: [HTTP2Field]
  /// The name of the field whose value comes with each request.
  let perRequestField: String?
  /// The size of the header list without path and per-request value (RFC 9113 section 6.5.2).
  let constantHeaderListSize: Int
  // Written in the initializer alone.
  nonisolated(unsafe) let body: UnsafeMutablePointer<UInt8>
  /// The only field that nghttp2 is told of: it wants the method for its rules about answers.
  nonisolated(unsafe) let method: UnsafeMutablePointer<nghttp2_nv>
  nonisolated(unsafe) private let text: UnsafeMutablePointer<UInt8>

  /// A template.
  ///
  /// - Parameters:
  ///   - perRequestField: the name of the field whose value comes with each request; sent without indexing.
  ///   - body: the bytes of every request's body; empty for none.
  public init(
    method: String = "POST", scheme: String = "https", authority: String, pathPrefix: String, fields: [HTTP2Field],
    perRequestField: String? = nil, body: [UInt8]
  ) throws(HTTP2TemplateError) {
    pseudoFields = [HTTP2Field(":method", method), HTTP2Field(":scheme", scheme), HTTP2Field(":authority", authority)]
    otherFields = fields
    self.perRequestField = perRequestField
    var all = pseudoFields + [HTTP2Field(":path", pathPrefix)] + fields
    if let perRequestField { all.append(HTTP2Field(perRequestField, "", indexing: .never)) }
    for field in all { try Self.check(field) }

    self.pathPrefix = Array(pathPrefix.utf8)
    constantHeaderListSize =
      all.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count + 32 } - pathPrefix.utf8.count
    bodyLength = body.count
    unsafe self.body = .allocate(capacity: max(1, body.count))
    unsafe self.body.initialize(from: body, count: body.count)
    let name = Array(":method".utf8)
    let bytes = name + Array(method.utf8)
    unsafe text = .allocate(capacity: bytes.count)
    unsafe text.initialize(from: bytes, count: bytes.count)
    unsafe self.method = .allocate(capacity: 1)
    let flags = NGHTTP2_NV_FLAG_NO_COPY_NAME.rawValue | NGHTTP2_NV_FLAG_NO_COPY_VALUE.rawValue
    unsafe self.method.initialize(
      to: nghttp2_nv(
        name: text, value: text + name.count, namelen: name.count, valuelen: bytes.count - name.count,
        flags: UInt8(truncatingIfNeeded: flags)))
  }

  deinit {
    unsafe method.deallocate()
    unsafe text.deallocate()
    unsafe body.deallocate()
  }

  private static func check(_ field: HTTP2Field) throws(HTTP2TemplateError) {
    // RFC 9110 section 5.1 and RFC 9113 section 8.2.1: nothing that could end or fold the field, no upper-case names.
    let nameIsGood =
      !field.name.isEmpty
      && field.name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !(UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
    guard nameIsGood else { throw HTTP2TemplateError(description: "'\(field.name)' is not a lower-case field name") }
    let valueIsGood =
      field.value.utf8.allSatisfy { $0 == 0x09 || ($0 >= 0x20 && $0 != 0x7f) } && field.value.utf8.first != 0x20
      && field.value.utf8.last != 0x20
    guard valueIsGood else {
      throw HTTP2TemplateError(description: "the value of \(field.name) holds a control character or outer spaces")
    }
  }
}
