import HTTP2

extension PushRequest {
  /// A request as the server received it.
  init(_ request: ServerRequest, role: ListenerRole) {
    var method = ""
    var scheme = ""
    var path = ""
    var fields: [Field] = []
    request.forEachField { nameBytes, valueBytes in
      let name = String(decoding: Array(copying: nameBytes), as: UTF8.self)
      let field = Field(name: name, value: Array(copying: valueBytes))
      switch name {
      case ":method": method = field.text
      case ":scheme": scheme = field.text
      case ":path": path = field.text
      default: fields.append(field)
      }
    }
    self.init(
      role: role, method: method, scheme: scheme, path: path, fields: fields, body: request.body,
      bodyByteCount: request.bodyByteCount)
  }
}

extension Verdict {
  /// What is known of a request before any rule is applied to it.
  init(unchecked request: PushRequest) {
    topic = request.text("apns-topic")
    deviceToken = request.target?.deviceToken
    let id = request.text(request.hasRequestID ? "apns-request-id" : "apns-id").flatMap {
      HeaderRules.isUUID($0) ? $0 : nil
    }
    if request.hasRequestID { requestID = id } else { messageID = id }
  }
}

extension [UInt8] {
  /// The bytes of a span.
  fileprivate init(copying bytes: Span<UInt8>) {
    self.init(capacity: bytes.count) { output in
      for index in bytes.indices { output.append(bytes[index]) }
    }
  }
}
