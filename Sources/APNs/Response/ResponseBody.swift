import JSON
import Operations

/// What the body of an answer says: tolerant, since a middlebox, a cut or a newer APNs may have written it.
struct ResponseBody: Equatable {
  /// The reason; nil when there is none that could be one.
  let reason: String?
  /// When APNs noticed that the token is invalid (410); nil when absent or absurd.
  let timestamp: UnixMilliseconds?

  /// The longest reason that is believed; Apple's longest has 27 characters.
  static let maximumReasonLength = 64
  /// Times before 2010 are absurd: the service did not exist, and seconds read as milliseconds are in 1970.
  private static let earliest = UnixMilliseconds(1_262_304_000_000)
  /// How far ahead another clock may be.
  private static let greatestAhead: Int64 = 86_400_000

  /// Reads a body; `now` bounds the timestamp.
  init(_ bytes: [UInt8], now: UnixMilliseconds) {
    // What is no JSON is no answer of APNs, but its status still is one.
    guard let value = try? JSONValue(parsing: bytes) else {
      reason = Self.reasonInFragment(bytes)
      timestamp = nil
      return
    }
    reason = value["reason"]?.string.flatMap(Self.believable)
    timestamp = value["timestamp"]?.integer.map { UnixMilliseconds($0) }.flatMap { time in
      time >= Self.earliest && time.value <= now.value + Self.greatestAhead ? time : nil
    }
  }

  /// Letters, digits, spaces and `_-` alone: it goes into logs, metrics and tables.
  private static func believable(_ text: String) -> String? {
    let isGood = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: " "), UInt8(ascii: "_"),
        UInt8(ascii: "-"):
        true
      default: false
      }
    }
    return isGood && !text.isEmpty && text.utf8.count <= maximumReasonLength ? text : nil
  }

  /// The reason at the start of a body that was cut off or is too large to be kept.
  private static func reasonInFragment(_ bytes: [UInt8]) -> String? {
    let name = Array("\"reason\"".utf8)
    guard let start = bytes.prefix(256).indices.first(where: { bytes[$0...].starts(with: name) })
    else { return nil }
    var rest = bytes[(start + name.count)...].drop { $0 == 0x20 }
    guard rest.popFirst() == UInt8(ascii: ":") else { return nil }
    rest = rest.drop { $0 == 0x20 }
    guard rest.popFirst() == UInt8(ascii: "\"") else { return nil }
    let word = rest.prefix { $0 != UInt8(ascii: "\"") }
    guard word.endIndex < rest.endIndex, word.count <= maximumReasonLength else { return nil }
    return believable(String(decoding: word, as: UTF8.self))
  }
}
