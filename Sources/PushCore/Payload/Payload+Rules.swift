import JSON

extension Payload {
  /// The push type that the payload speaks for when nobody names one: background when it only wakes the app, else
  /// alert.
  public var inferredPushType: PushType { isContentAvailable && !isVisible ? .background : .alert }

  /// What makes the payload unfit for a push type.
  func faults(for type: PushType) -> [NotificationFinding] {
    var faults: [NotificationFinding] = []
    if aps == nil, type.rules.requiresAps {
      faults.append(
        NotificationFinding("payload", "there is no aps object, which a push of type \(type.rawValue) needs"))
      return faults
    }
    switch type {
    case .alert:
      if isContentAvailable, !isVisible {
        faults.append(
          NotificationFinding(
            "push_type",
            "the payload has content-available and no alert, badge or sound: that is a push of type background"))
      }
    case .background: faults += backgroundFaults
    case .liveactivity: faults += liveActivityFaults
    case .widgets, .controls:
      if self[.contentChanged]?.bool != true {
        faults.append(
          NotificationFinding("payload.aps", "a push of type \(type.rawValue) needs \"content-changed\": true"))
      }
    case .mdm:
      if rootValue("mdm")?.string == nil {
        faults.append(NotificationFinding("payload", "a push of type mdm needs \"mdm\": the push magic, a string"))
      }
    case .fileprovider:
      if rootValue("container-identifier")?.string == nil {
        faults.append(
          NotificationFinding("payload", "a push of type fileprovider needs \"container-identifier\", a string"))
      }
    case .voip, .complication, .location, .pushtotalk: break
    }
    return faults
  }

  /// What is legal and yet probably not meant.
  func warnings(for type: PushType) -> [NotificationFinding] {
    var warnings: [NotificationFinding] = []
    for member in root {
      guard let key = ApsKey(rawValue: member.name), key.isTelling, type.rules.requiresAps else { continue }
      warnings.append(
        NotificationFinding(
          "payload.\(key.rawValue)", "at the root it is custom data without effect; probably meant inside aps"))
    }
    for member in aps ?? [] {
      guard let key = ApsKey(rawValue: member.name) else { continue }
      let (isFit, expected) = key.fits(member.value)
      if !isFit {
        warnings.append(
          NotificationFinding(
            "payload.aps.\(key.rawValue)", "\(expected) is expected, not \(member.value.kindName); devices ignore it"))
      }
    }
    if type == .alert, !isVisible {
      warnings.append(NotificationFinding("payload.aps", "there is no alert, badge or sound: the device shows nothing"))
    }
    return warnings
  }

  private func rootValue(_ name: String) -> JSONValue? { root.first { $0.name == name }?.value }

  private var backgroundFaults: [NotificationFinding] {
    var faults: [NotificationFinding] = []
    let contradictions = [ApsKey.alert, .badge, .sound].filter { self[$0] != nil }.map(\.rawValue)
    if !contradictions.isEmpty {
      faults.append(
        NotificationFinding(
          "push_type",
          "background contradicts \(contradictions.joined(separator: ", ")) in aps; send it as alert, which may have content-available too"
        ))
    }
    if !isContentAvailable {
      faults.append(NotificationFinding("payload.aps", "a push of type background needs \"content-available\": 1"))
    }
    return faults
  }

  /// Apple, "Starting and updating Live Activities with ActivityKit push notifications".
  private var liveActivityFaults: [NotificationFinding] {
    var faults: [NotificationFinding] = []
    func add(_ key: ApsKey, _ detail: String) {
      faults.append(NotificationFinding("payload.aps.\(key.rawValue)", detail))
    }
    if let timestamp = self[.timestamp]?.number {
      if timestamp.double > 100_000_000_000 { add(.timestamp, "it looks like milliseconds; UNIX seconds are needed") }
    } else {
      add(.timestamp, "a Live Activity push needs it, in UNIX seconds")
    }
    switch self[.event]?.string {
    case "start":
      if self[.attributesType]?.string == nil { add(.attributesType, "a start needs it, a string") }
      if self[.attributes]?.object == nil { add(.attributes, "a start needs it, an object") }
      if self[.contentState]?.object == nil { add(.contentState, "a start needs it, an object") }
      if self[.alert] == nil { add(.alert, "a start needs it: the device shows that an activity began") }
    case "update":
      if self[.contentState]?.object == nil { add(.contentState, "an update needs it, an object") }
    case "end": break
    default: add(.event, "it must be start, update or end")
    }
    return faults
  }
}
