import JSON
import Operations
import PushCore

/// The `apns` object of a publish: headers that stand in it, and a payload whose members stay as they were spelled.
struct BeamsPayload {
  /// `apns-collapse-id`.
  let collapseID: String?
  /// `apns-expiration`, in UNIX seconds.
  let expiration: Int64?
  /// `apns-priority`.
  let priority: Int64?
  private let aps: Object
  private let data: Object?
  /// Every other member, spelled as it was.
  private let others: [Object.Part]
  private let wakesByItself: Bool

  /// An object as it was spelled, to which members are added at its end.
  private struct Object {
    struct Part {
      var name: [UInt8]
      var value: [UInt8]
    }
    var parts: [Part]

    init?(_ value: JSONValue, in document: [UInt8]) {
      guard let members = value.object else { return nil }
      parts = members.map { Part(name: Array(document[$0.nameRange]), value: Array(document[$0.value.range])) }
    }

    init(_ parts: [Part]) { self.parts = parts }

    mutating func add(_ name: String, _ value: [UInt8]) {
      parts.append(Part(name: Array("\"\(name)\"".utf8), value: value))
    }

    var bytes: [UInt8] {
      let members = parts.map { $0.name + [UInt8(ascii: ":")] + $0.value }
      return [UInt8(ascii: "{")] + Array(members.joined(separator: [UInt8(ascii: ",")])) + [UInt8(ascii: "}")]
    }
  }

  /// Reads the object.
  init(_ apns: JSONValue, in document: [UInt8]) throws(BeamsError) {
    guard let members = apns.object else {
      throw .unprocessable("apns", "Invalid type. Expected: object, given: \(apns.kindName)")
    }
    var names: Set<String> = []
    for member in members where !names.insert(member.name).inserted {
      throw .unprocessable("apns", "a member is there twice")
    }
    guard let aps = apns["aps"], let object = Object(aps, in: document) else {
      throw .unprocessable("apns.aps", "aps is required, an object")
    }
    self.aps = object
    if let contentAvailable = aps["content-available"] {
      guard contentAvailable.integer == 1 else {
        throw .unprocessable(
          "apns.aps.content-available", "apns.aps.content-available must be one of the following: 1")
      }
      wakesByItself = true
    } else {
      wakesByItself = false
    }
    data = try Self.data(apns["data"], in: document)
    collapseID = try Self.value("collapse_id", apns, "a string") { $0.string }
    expiration = try Self.value("expiration", apns, "a whole number") { $0.integer }
    priority = try Self.value("priority", apns, "5 or 10") { $0.integer.flatMap { [5, 10].contains($0) ? $0 : nil } }
    let known = ["aps", "data", "collapse_id", "expiration", "priority"]
    others = members.filter { !known.contains($0.name) }.map {
      Object.Part(name: Array(document[$0.nameRange]), value: Array(document[$0.value.range]))
    }
  }

  /// The payload with what the SDK looks for: it is woken by every push, and reports it under the publish's id. The ids hold
  /// nothing that JSON escapes.
  func bytes(publishID: String, instance: String) -> [UInt8] {
    var aps = aps
    // An app that did not ask to be woken is told to ignore it.
    if !wakesByItself { aps.add("content-available", Array("1".utf8)) }
    let ignores = wakesByItself ? "" : #","userShouldIgnore":true"#
    var data = data ?? Object([])
    data.add("pusher", Array(#"{"publishId":"\#(publishID)","instanceId":"\#(instance)"\#(ignores)}"#.utf8))
    var payload = Object([])
    payload.add("aps", aps.bytes)
    payload.parts += others
    payload.add("data", data.bytes)
    return payload.bytes
  }

  private static func data(_ value: JSONValue?, in document: [UInt8]) throws(BeamsError) -> Object? {
    guard let value, !value.isNull else { return nil }
    guard let object = Object(value, in: document) else {
      throw .unprocessable("apns.data", "Invalid type. Expected: object, given: \(value.kindName)")
    }
    guard value["pusher"] == nil else { throw .unprocessable("apns.data", "the key pusher is reserved") }
    return object
  }

  private static func value<Value>(
    _ name: String, _ apns: JSONValue, _ kind: String, _ read: (JSONValue) -> Value?
  ) throws(BeamsError) -> Value? {
    guard let member = apns[name], !member.isNull else { return nil }
    guard let value = read(member) else { throw .unprocessable("apns.\(name)", "it must be \(kind)") }
    return value
  }
}
