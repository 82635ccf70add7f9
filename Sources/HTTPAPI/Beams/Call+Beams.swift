import JSON
import Operations
import PushCore

/// What the Beams endpoints read from a call.
extension Call {
  /// The instance of the path.
  func instance() throws(BeamsError) -> Configuration.BeamsInstance {
    let id = parameter("instance").lowercased()
    guard let instance = context.policy.beams.first(where: { $0.id == id }) else { throw .unknownInstance }
    return instance
  }

  /// The device of the path.
  func beamsDeviceID() throws(BeamsError) -> BeamsDeviceID {
    BeamsDeviceID(instance: try instance().id, id: parameter("device"))
  }

  /// The text behind `Bearer`; nil without an Authorization.
  func bearer() throws(BeamsError) -> String? {
    guard request.head.count(of: "authorization") < 2 else {
      throw .badRequest("Authorization is there more than once")
    }
    guard let field = request.head.field("authorization") else { return nil }
    let words = field.split(separator: " ", omittingEmptySubsequences: true)
    return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : ""
  }

  /// The instance of the path, whose secret key the caller has.
  func provedInstance() throws(BeamsError) -> Configuration.BeamsInstance {
    let instance = try instance()
    guard let key = try bearer() else { throw .noAuthorization }
    // Digests have one length, so that comparing them tells nothing of the key.
    let isSame = APIKeyText.isSame(
      context.sha256(Array(key.utf8)), context.sha256(Array(instance.secretKey.reveal().utf8)))
    guard isSame else { throw .wrongKey }
    guard context.limits.allowsBackend(of: instance.id, now: context.clocks.monotonicTime()) else { throw .tooOften }
    return instance
  }

  /// Refuses a body of another type than JSON.
  func checkContentType() throws(BeamsError) {
    guard !request.body.isEmpty else { return }
    let type = (request.head.field("content-type") ?? "").prefix { $0 != ";" }.filter { $0 != " " }
    guard type.lowercased() == "application/json" else { throw .wrongContentType }
  }

  /// The JSON object of an app's body.
  func beamsObject(limitBytes: Int = registrationLimitBytes) throws(BeamsError) -> JSONValue {
    try checkContentType()
    guard request.body.count <= limitBytes else { throw .badRequest("the body has more than \(limitBytes) bytes") }
    // Whatever the parser says: the service has one answer.
    guard let value = try? JSONValue(parsing: request.body), value.object != nil else {
      throw .badRequest("the body is not a JSON object")
    }
    return value
  }

  /// The bytes of an SDK's metadata.
  func metadata(_ value: JSONValue) throws(BeamsError) -> [UInt8] {
    guard value.object != nil, value.range.count <= 2048 else {
      throw .badRequest("metadata must be an object of at most 2048 bytes")
    }
    return Array(request.body[value.range])
  }
}

extension Answer {
  /// 200 without a body: some SDKs take any other success for a failure.
  static let ok = Answer(status: 200)
}
