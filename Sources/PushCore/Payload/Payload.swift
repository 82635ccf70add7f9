import JSON

/// A payload that is JSON as APNs and every device read it; its bytes are the sender's, untouched.
public struct Payload: Sendable, Equatable {
  /// The bytes to send: the sender's, without a UTF-8 byte order mark.
  public let bytes: [UInt8]
  /// Keys of the root in document order.
  let root: [JSONMember]
  /// Members of `aps`; nil when there is none.
  let aps: [JSONMember]?

  /// Why bytes are no payload.
  public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong and where; holds at most one character of the payload.
    public let description: String
    /// Its bytes when it is too large for every push type.
    public var oversizedByteCount: Int?

    init(_ description: String) { self.description = description }

    static func tooLarge(_ count: Int) -> Fault {
      var fault = Fault(Payload.sizeFault(count, limit: PushType.greatestPayloadLimitBytes))
      fault.oversizedByteCount = count
      return fault
    }
  }

  /// The words for a payload of too many bytes.
  static func sizeFault(_ count: Int, limit: Int) -> String { "\(count) bytes, limit \(limit)" }

  /// Checks bytes: strict JSON (RFC 8259) in UTF-8, an object, with one `aps` object if any, nowhere U+0000.
  ///
  /// A payload larger than any type may be is not even parsed.
  public init(_ input: [UInt8]) throws(Fault) {
    let bytes = input.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(input.dropFirst(3)) : input
    guard bytes.contains(where: { !($0 == 0x20 || $0 >= 0x09 && $0 <= 0x0D) }) else {
      throw Fault("the payload is empty (APNs: PayloadEmpty)")
    }
    guard bytes.count <= PushType.greatestPayloadLimitBytes else {
      throw .tooLarge(bytes.count)
    }
    let value: JSONValue
    do {
      value = try JSONValue(parsing: bytes)
    } catch {
      throw Fault(error.description)
    }
    guard let root = value.object else {
      throw Fault("the payload must be a JSON object, not \(value.kindName)")
    }
    if Self.holdsNUL(value) {
      throw Fault("the payload has the character U+0000 (\\u0000) in a string, which is not taken: remove it")
    }
    self.bytes = bytes
    self.root = root
    aps = try Self.aps(in: root)
  }

  /// The first member of `aps` under a key.
  subscript(key: ApsKey) -> JSONValue? { aps?.first { $0.name == key.rawValue }?.value }

  /// Whether a device shows, plays or badges something.
  var isVisible: Bool { self[.alert] != nil || self[.badge] != nil || self[.sound] != nil }

  /// Whether the payload wakes the app in the background.
  var isContentAvailable: Bool {
    guard let value = self[.contentAvailable] else { return false }
    return value.integer == 1 || value.bool == true
  }

  /// `aps.category`.
  public var category: String? { self[.category]?.string }

  private static func aps(in root: [JSONMember]) throws(Fault) -> [JSONMember]? {
    let found = root.filter { $0.name == "aps" }
    guard let first = found.first else { return nil }
    guard found.count == 1 else {
      throw Fault("the payload has aps \(found.count) times; receivers disagree which counts")
    }
    guard let members = first.value.object else {
      throw Fault("aps must be an object, not \(first.value.kindName)")
    }
    var names: Set<String> = []
    for member in members where !names.insert(member.name).inserted {
      let name = ApsKey(rawValue: member.name).map { "'\($0.rawValue)'" } ?? "a key"
      throw Fault("aps has \(name) twice; receivers disagree which counts")
    }
    return members
  }

  /// The parser bounds the depth.
  private static func holdsNUL(_ value: JSONValue) -> Bool {
    switch value.kind {
    case .string(let text): text.utf8.contains(0)
    case .array(let elements): elements.contains(where: holdsNUL)
    case .object(let members): members.contains { $0.name.utf8.contains(0) || holdsNUL($0.value) }
    case .null, .bool, .number: false
    }
  }
}
