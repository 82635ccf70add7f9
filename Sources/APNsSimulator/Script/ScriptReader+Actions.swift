import HTTP2
import JSON

// The values of actions.
extension ScriptReader {
  mutating func timestamp(_ value: JSONValue) -> FaultEffect.Timestamp? {
    if value.isNull { return .absent }
    if let time = value.integer { return .at(time) }
    return offset(value).map { .relative($0) }
  }

  mutating func messageID(_ value: JSONValue) -> FaultEffect.MessageID? {
    if value.isNull { return .absent }
    return string(value).map { .text(withoutControls($0, value)) }
  }

  /// A text that may stand in a field of an answer.
  private mutating func withoutControls(_ text: String, _ value: JSONValue) -> String {
    if !text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) { fault(value, "has a control character") }
    return text
  }

  mutating func fields(_ value: JSONValue) -> [String: String] {
    var fields: [String: String] = [:]
    // The server's limit is 16, and four may be the simulator's own.
    if let count = value.object?.count, count > 12 { fault(value, "an answer takes 12 fields more and not \(count)") }
    for member in members(value) {
      let isName = member.name.utf8.allSatisfy {
        $0 == UInt8(ascii: "-") || $0.isDecimalDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
      }
      if member.name.isEmpty || !isName {
        fault(at: member.nameRange.lowerBound, "the name of a field has small letters, digits and '-' only")
      }
      guard let text = string(member.value) else { continue }
      fields[member.name] = withoutControls(text, member.value)
    }
    return fields
  }

  /// Device tokens with their states.
  mutating func devices(_ value: JSONValue) -> [(deviceToken: String, state: DeviceState)] {
    members(value).compactMap { member in
      if !DeviceRegistry.isDeviceToken(member.name) {
        fault(at: member.nameRange.lowerBound, "'\(member.name)' is no device token: whole bytes in hexadecimal digits")
      }
      guard let state = member.value.string.flatMap(DeviceState.init) else {
        mismatch(member.value, "ok, offline, unregistered, unregistered@MILLISECONDS, bad or other-topic")
        return nil
      }
      return (member.name, state)
    }
  }

  /// What an array holds; nil for any other value.
  private mutating func several(_ value: JSONValue) -> [JSONValue]? {
    if value.array?.isEmpty == true { fault(value, "the array is empty") }
    return value.array
  }

  /// One code or an array of them.
  mutating func errorCodes(_ value: JSONValue) -> [UInt32] {
    guard let codes = several(value) else { return errorCode(value).map { [$0] } ?? [] }
    return codes.compactMap { errorCode($0) }
  }

  mutating func errorCode(_ value: JSONValue) -> UInt32? {
    if let number = value.integer, let code = UInt32(exactly: number) { return code }
    if let code = value.string.flatMap(HTTP2ErrorName.code) { return code }
    mismatch(value, "an error code of HTTP/2 such as \"REFUSED_STREAM\", or its number")
    return nil
  }

  mutating func settings(_ value: JSONValue, alsoKnown: [String] = []) -> [ServerSetting] {
    members(value, known: SettingName.allCases.map(\.rawValue) + alsoKnown).compactMap { member in
      if alsoKnown.contains(member.name) { return nil }
      guard let name = SettingName(rawValue: member.name), let number = integer(member.value, name.range) else {
        return nil
      }
      return ServerSetting(identifier: name.identifier, value: UInt32(number))
    }
  }

  /// One GOAWAY or an array of them.
  mutating func goAways(_ value: JSONValue) -> [FaultEffect.GoAway] {
    guard let values = several(value) else { return [goAway(value)] }
    // The connection has to be there for the next one.
    return values.enumerated().map { goAway($1, ending: $0 + 1 < values.count ? .stay : .drain) }
  }

  mutating func goAway(
    _ value: JSONValue, alsoKnown: [String] = [], ending: FaultEffect.GoAway.Ending = .drain
  ) -> FaultEffect.GoAway {
    var goAway = FaultEffect.GoAway()
    goAway.ending = ending
    let known = ["last_stream", "error", "debug_data", "after", "then"]
    for member in members(value, known: known + alsoKnown) {
      switch member.name {
      case "last_stream": goAway.lastStream = lastStream(member.value) ?? goAway.lastStream
      case "error": goAway.errorCode = errorCode(member.value) ?? 0
      case "debug_data": goAway.debugData = string(member.value).map { Array($0.utf8) } ?? []
      case "after": goAway.after = duration(member.value) ?? .zero
      case "then": goAway.ending = word(member.value) ?? ending
      default: break
      }
    }
    // One frame holds it.
    if goAway.debugData.count > 16376 { fault(value, "debug_data is longer than 16376 bytes") }
    return goAway
  }

  private mutating func lastStream(_ value: JSONValue) -> FaultEffect.GoAway.LastStream? {
    switch value.string {
    case "last": return .lastTakenUp
    case "this": return .this
    case "max": return .number(.max)
    default:
      if let number = value.integer, let stream = Int32(exactly: number), stream >= 0 { return .number(stream) }
      mismatch(value, "\"last\", \"this\", \"max\" (2147483647) or a stream's number")
      return nil
    }
  }

  mutating func removedTopic(_ value: JSONValue) -> FaultEffect.CredentialChange? {
    var topic: String?
    var keyID: String?
    for member in members(value, known: ["topic", "key"]) {
      if member.name == "topic" { topic = string(member.value) } else { keyID = string(member.value) }
    }
    if topic == nil { fault(value, "needs \"topic\"") }
    return topic.map { .removeTopic($0, keyID: keyID) }
  }

  mutating func switchedEnvironment(_ value: JSONValue) -> FaultEffect.CredentialChange? {
    var keyID: String?
    var environment: Environment?
    for member in members(value, known: ["key", "environment"]) {
      if member.name == "key" {
        keyID = string(member.value)
      } else if !member.value.isNull {
        environment = member.value.string.flatMap(Environment.init(listenerName:))
        if environment == nil { mismatch(member.value, "\"production\", \"sandbox\", or null for both") }
      }
    }
    if keyID == nil { fault(value, "needs \"key\": the id of a key") }
    return keyID.map { .environment(environment, keyID: $0) }
  }

  mutating func broadcastCapability(_ value: JSONValue) -> FaultEffect.CredentialChange? {
    var bundleID: String?
    var isOn: Bool?
    for member in members(value, known: ["topic", "on"]) {
      if member.name == "topic" {
        bundleID = string(member.value)
      } else {
        isOn = member.value.bool
        if isOn == nil { mismatch(member.value, "true or false") }
      }
    }
    if value["topic"] == nil || value["on"] == nil { fault(value, "needs \"topic\", a bundle id, and \"on\"") }
    guard let bundleID, let isOn else { return nil }
    return .broadcast(isOn: isOn, bundleID: bundleID)
  }
}
