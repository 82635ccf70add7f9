import Operations

/// What Apple asks of a push of one type (Apple, "Sending notification requests to APNs", and the page of each kind of
/// push).
public struct PushTypeRules: Sendable, Equatable {
  /// What the topic has behind the bundle id; empty for the bundle id itself.
  public let topicSuffix: String
  /// The priorities that make sense; APNs refuses or ignores others.
  public let allowedPriorities: [Priority]
  /// The priority when the sender gives none.
  public let defaultPriority: Priority
  /// The most payload bytes, inclusive.
  public let payloadLimitBytes: Int
  /// Whether the payload must have an `aps` object.
  public let requiresAps: Bool

  init(
    suffix: TopicText.Suffix? = nil, priorities: [Priority] = [.immediate, .powerConscious, .low],
    defaultPriority: Priority = .immediate, limit: Int = 4096, requiresAps: Bool = true
  ) {
    topicSuffix = suffix?.rawValue ?? ""
    allowedPriorities = priorities
    self.defaultPriority = defaultPriority
    payloadLimitBytes = limit
    self.requiresAps = requiresAps
  }
}

extension PushType {
  /// The most payload bytes that any type may have.
  public static let greatestPayloadLimitBytes = 5120

  /// The rules of the type: the one table of them.
  public var rules: PushTypeRules {
    switch self {
    case .alert: PushTypeRules()
    case .background:
      PushTypeRules(priorities: [.powerConscious, .low], defaultPriority: .powerConscious)
    case .voip: PushTypeRules(suffix: .voip, limit: 5120, requiresAps: false)
    case .complication: PushTypeRules(suffix: .complication, requiresAps: false)
    case .fileprovider: PushTypeRules(suffix: .fileProvider, requiresAps: false)
    case .mdm: PushTypeRules(requiresAps: false)
    case .location:
      PushTypeRules(
        suffix: .location, priorities: [.immediate, .powerConscious], requiresAps: false)
    case .liveactivity:
      PushTypeRules(suffix: .liveActivity, priorities: [.immediate, .powerConscious])
    case .pushtotalk:
      PushTypeRules(suffix: .pushToTalk, priorities: [.immediate], requiresAps: false)
    case .widgets: PushTypeRules(suffix: .widgets)
    case .controls: PushTypeRules(suffix: .controls)
    }
  }

  /// The type whose suffix a topic carries; nil when it carries none.
  public init?(suffixOf topic: String) {
    let type = Self.allCases.first { type in
      let suffix = type.rules.topicSuffix
      return !suffix.isEmpty && topic.hasSuffix(suffix) && topic.utf8.count > suffix.utf8.count
    }
    guard let type else { return nil }
    self = type
  }
}
