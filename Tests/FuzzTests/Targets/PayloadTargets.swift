import JSON
import Operations

@testable import PushCore

extension FuzzTarget {
  private static let now = UnixMilliseconds(1_790_000_000_000)

  /// Payloads, for each push type.
  static let payload = FuzzTarget(name: "payload") { bytes in
    guard let payload = try? Payload(bytes) else { return }
    let own = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
    try require(payload.bytes == own, "the payload's bytes are not the sender's")
    try require(own.count <= 5120, "the payload is larger than APNs takes")
    _ = payload.category
    _ = payload.inferredPushType
    for type in PushType.allCases {
      var request = NotificationRequest()
      request.topic = "com.example.app"
      request.interests = ["all"]
      request.pushType = type.rawValue
      request.payload = bytes
      if let (publication, _) = try? request.publication(now: now, defaults: defaults) {
        try require(publication.payload == own, "the publication's payload is not the sender's")
        try require(
          publication.payload.count <= (type == .voip ? 5120 : 4096), "a publication is larger than its type may be")
      }
    }
  }

  /// Notification objects, as the lines of a batch and bodies of requests hold them.
  static let notification = FuzzTarget(name: "notification") { bytes in
    guard let document = try? JSONValue(parsing: bytes), let request = try? NotificationRequest(json: bytes) else {
      return
    }
    do {
      let (publication, _) = try request.publication(now: now, defaults: defaults)
      guard let payload = document["payload"] else { throw Violation("a publication without a payload") }
      try require(publication.payload == Array(bytes[payload.range]), "the payload's bytes are not the sender's")
      try require(!publication.target.isEmpty, "a publication for nobody")
      try require(
        PushHeaders(encoded: publication.headers.encoded) == publication.headers, "stored headers are read otherwise")
      if let values = publication.recipientValues { try checkRecipients(publication, values) }
      let names = request.recipients?.compactMap { if case .user(let user) = $0.name { user } else { nil } }
      let users = Set((names ?? request.users).map { Array($0.utf8) })
      try require(publication.target.users.count == users.count, "a user got lost, or is there twice")
      let end = publication.deadline.time(from: publication.sendAt ?? now)
      try require(end.value > 0, "a deadline before 1970")
    } catch let faults as NotificationFaults {
      try require(!faults.findings.isEmpty, "refused without a reason")
      try require(faults.description.unicodeScalars.allSatisfy(isShown), "a fault shows control characters")
    }
  }

  /// What each recipient gets is a payload of the same shape, and not too large; the values survive the store.
  private static func checkRecipients(_ publication: Publication, _ values: RecipientValues) throws {
    let target = publication.target
    let (interests, devices) = (target.interests.indices, target.tokens.indices)
    let substitutions = Substitutions(
      values, of: target, interests: interests.map { InterestID(Int64($0)) },
      devices: devices.map { DeviceID(Int64($0)) })
    let packed = PushCore.PackedTarget(
      interests: interests.map { InterestID(Int64($0)) }, users: target.users,
      devices: devices.map { DeviceID(Int64($0)) }, everyone: false, reachesUnverifiedUsers: false, hasValues: true)
    try require(Substitutions(encoded: substitutions.encoded, of: packed) == substitutions, "values are read otherwise")
    guard let personal = PersonalPayload(publication.payload, substitutions) else {
      throw Violation("the values do not fit their payload")
    }
    let shape = shape(try JSONValue(parsing: publication.payload))
    for entry in substitutions.entries.indices {
      let bytes = personal.bytes(ofEntry: entry)
      try require(bytes.count <= 5120, "a recipient's payload is larger than APNs takes")
      guard let payload = try? Payload(bytes) else { throw Violation("a recipient's payload is none") }
      try require(Self.shape(try JSONValue(parsing: payload.bytes)) == shape, "a value changed the payload's shape")
    }
  }

  /// A document without its strings that are values.
  private static func shape(_ value: JSONValue) -> String {
    switch value.kind {
    case .string: "s"
    case .array(let elements): "[" + elements.map(shape).joined(separator: ",") + "]"
    case .object(let members):
      "{" + members.map { "\($0.name.debugDescription):\(shape($0.value))" }.joined(separator: ",") + "}"
    case .null, .bool, .number: "\(value.kind)"
    }
  }

  private static let defaults = NotificationDefaults(topic: "com.example.app", environment: .production)

  /// Whether a character may be shown on a terminal; line ends separate findings.
  static func isShown(_ scalar: UnicodeScalar) -> Bool {
    scalar == "\n" || scalar.properties.generalCategory != .control
  }
}
