import JSON

/// The body of a push: its size decides, its content only warns, since nobody has documented APNs's reaction to it.
enum PayloadRules {
  /// Who gets a payload, as far as that says what may be in it.
  enum Recipient {
    /// One device, whose app has the channels that `isChannel` knows.
    case device(isChannel: (String) -> Bool)
    /// Everybody on a channel.
    case channel
  }

  /// Refuses an empty body and one over the limit.
  static func checkSize(_ byteCount: Int, limitBytes: Int) throws(Rejection) {
    guard byteCount > 0 else { throw Rejection(.payloadEmpty) }
    guard byteCount <= limitBytes else { throw Rejection(.payloadTooLarge) }
  }

  /// Refuses what is no JSON object, for those who want that.
  static func checkObject(_ body: [UInt8]) throws(Rejection) {
    // Which fault it is stands in the warning.
    guard let payload = try? JSONValue(parsing: body), payload.object != nil else {
      throw Rejection(.badRequestPayload)
    }
  }

  /// Adds a warning for everything in the payload that devices are known to ignore or drop.
  static func inspect(_ body: [UInt8], type: PushType?, for recipient: Recipient, warnings: inout [String]) {
    if body.starts(with: [0xEF, 0xBB, 0xBF]) { return warnings.append("the payload starts with a byte order mark") }
    let payload: JSONValue
    do {
      payload = try JSONValue(parsing: body)
    } catch {
      return warnings.append("the payload is not JSON in UTF-8: \(error)")
    }
    guard payload.object != nil else { return warnings.append("the payload is \(payload.kindName), not an object") }
    var inspection = PayloadInspection(payload: payload, recipient: recipient)
    inspection.run(type: type)
    warnings += inspection.warnings
  }
}

/// One walk over a payload that is a JSON object.
struct PayloadInspection {
  let payload: JSONValue
  let recipient: PayloadRules.Recipient
  private(set) var warnings: [String] = []

  init(payload: JSONValue, recipient: PayloadRules.Recipient) {
    self.payload = payload
    self.recipient = recipient
  }

  mutating func run(type: PushType?) {
    warnRepeatedNames(payload, in: "the payload")
    if let aps = payload["aps"] { inspectAps(aps) }
    guard let type else { return }
    if type.needsAps, payload["aps"] == nil { warn("\(type.rawValue) pushes need an aps object") }
    switch type {
    case .alert: inspectAlert()
    case .background: inspectBackground()
    case .liveactivity: inspectLiveActivity()
    case .widgets, .controls: if aps("content-changed")?.bool != true { warn("aps.content-changed should be true") }
    case .mdm: if names != ["mdm"] || payload["mdm"]?.string == nil { warn("mdm payloads hold the string mdm alone") }
    case .fileprovider: inspectFileProvider()
    case .voip, .complication, .location, .pushtotalk: break
    }
  }

  mutating func warn(_ text: String) { warnings.append(text) }

  private var names: [String] { payload.object?.map(\.name) ?? [] }

  private func aps(_ name: String) -> JSONValue? { payload["aps"]?[name] }

  private mutating func inspectAps(_ aps: JSONValue) {
    guard let members = aps.object else { return warn("aps is \(aps.kindName), not an object") }
    warnRepeatedNames(aps, in: "aps")
    for member in members {
      guard let expected = ApsKey.all[member.name] else {
        warn("aps has a key that is not Apple's; devices ignore custom keys inside aps")
        continue
      }
      if let fault = expected.fault(member.value) { warn("aps.\(member.name) \(fault)") }
    }
    if let alert = aps["alert"], alert.object != nil { warnRepeatedNames(alert, in: "aps.alert") }
  }

  private mutating func inspectAlert() {
    if payload["aps"]?.object != nil, aps("alert") == nil, aps("badge") == nil, aps("sound") == nil {
      warn("an alert push without alert, badge and sound shows nothing")
    }
  }

  private mutating func inspectBackground() {
    if aps("content-available")?.integer != 1 { warn("background pushes need aps.content-available 1") }
    for name in ["alert", "badge", "sound"] where aps(name) != nil {
      warn("background pushes must not have aps.\(name)")
    }
  }

  private mutating func inspectFileProvider() {
    if payload["aps"] != nil { warn("fileprovider payloads have no aps") }
    if payload["container-identifier"]?.string == nil { warn("fileprovider payloads need container-identifier") }
  }

  private mutating func inspectLiveActivity() {
    if aps("timestamp") == nil { warn("liveactivity pushes need aps.timestamp") }
    if let timestamp = aps("timestamp")?.integer, timestamp > 100_000_000_000 {
      warn("aps.timestamp looks like milliseconds; it is in seconds")
    }
    if aps("content-state") == nil { warn("liveactivity pushes need aps.content-state") }
    guard aps("event")?.string == "start" else {
      if aps("event") == nil { warn("liveactivity pushes need aps.event") }
      return
    }
    guard case .device(let isChannel) = recipient else {
      return warn("a broadcast cannot start a Live Activity; aps.event is update or end")
    }
    for name in ["attributes-type", "attributes", "alert"] where aps(name) == nil {
      warn("the start of a Live Activity needs aps.\(name)")
    }
    if aps("input-push-token") != nil, aps("input-push-channel") != nil {
      warn("aps.input-push-token and aps.input-push-channel exclude each other")
    }
    if let channel = aps("input-push-channel")?.string, !isChannel(channel) {
      warn("aps.input-push-channel is no channel of the app in this environment")
    }
  }

  private mutating func warnRepeatedNames(_ value: JSONValue, in place: String) {
    var seen: Set<String> = []
    for member in value.object ?? [] where !seen.insert(member.name).inserted {
      return warn("\(place) has a key twice; readers disagree on which one counts")
    }
  }
}
