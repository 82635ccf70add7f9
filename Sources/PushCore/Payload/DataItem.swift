import JSON

/// One item of custom data as people write it: a JSON object, `key=text` or `key:=json`.
enum DataItem {
  /// A member to write beside `aps`: its value is JSON already, in the sender's own spelling.
  struct Member: Equatable {
    let name: String
    let json: [UInt8]
  }

  /// Why an item is none.
  struct Fault: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  /// The members of an item. `007` after `=` stays the text "007"; after `:=` it is refused, since it is no JSON.
  static func members(of text: String) throws(Fault) -> [Member] {
    let bytes = Array(text.utf8)
    let members: [Member]
    if bytes.first(where: { $0 > 0x20 }) == UInt8(ascii: "{") {
      members = try object(bytes)
    } else {
      members = [try assignment(bytes)]
    }
    guard !members.contains(where: { $0.name == "aps" }) else {
      throw Fault(description: "the key aps is not custom data; give the whole payload with --payload")
    }
    guard !members.contains(where: { $0.name.isEmpty }) else { throw Fault(description: "a key must not be empty") }
    return members
  }

  private static func object(_ bytes: [UInt8]) throws(Fault) -> [Member] {
    let value = try parse(bytes)
    return (value.object ?? []).map { Member(name: $0.name, json: Array(bytes[$0.value.range])) }
  }

  private static func assignment(_ bytes: [UInt8]) throws(Fault) -> Member {
    guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else {
      throw Fault(description: "write key=text, key:=json, or a JSON object")
    }
    let value = Array(bytes[(equals + 1)...])
    let isJSON = equals > 0 && bytes[equals - 1] == UInt8(ascii: ":")
    let name = String(decoding: bytes[..<(isJSON ? equals - 1 : equals)], as: UTF8.self)
    guard isJSON else {
      var writer = JSONWriter()
      writer.string(String(decoding: value, as: UTF8.self))
      return Member(name: name, json: writer.bytes)
    }
    let parsed = try parse(value)
    return Member(name: name, json: Array(value[parsed.range]))
  }

  private static func parse(_ bytes: [UInt8]) throws(Fault) -> JSONValue {
    do {
      return try JSONValue(parsing: bytes)
    } catch {
      throw Fault(description: "not JSON: \(error.description); for a text write key=text")
    }
  }
}
