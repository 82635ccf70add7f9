import JSON

/// The keys that Apple defines inside `aps` (Apple, "Generating a remote notification", and the pages of Live
/// Activities and WidgetKit).
enum ApsKey: String, CaseIterable {
  case alert, badge, sound, category
  case threadID = "thread-id"
  case contentAvailable = "content-available"
  case mutableContent = "mutable-content"
  case targetContentID = "target-content-id"
  case interruptionLevel = "interruption-level"
  case relevanceScore = "relevance-score"
  case filterCriteria = "filter-criteria"
  case staleDate = "stale-date"
  case contentState = "content-state"
  case timestamp, event
  case dismissalDate = "dismissal-date"
  case attributesType = "attributes-type"
  case attributes
  case contentChanged = "content-changed"

  /// What the value must be, in people's words, and whether `value` is that.
  func fits(_ value: JSONValue) -> (isFit: Bool, expected: String) {
    switch self {
    case .alert, .sound: (value.string != nil || value.object != nil, "a string or an object")
    case .category, .threadID, .targetContentID, .filterCriteria, .event, .attributesType:
      (value.string != nil, "a string")
    case .interruptionLevel:
      (value.string.map(InterruptionLevel.init(rawValue:)) ?? nil != nil, InterruptionLevel.list)
    case .badge, .relevanceScore, .staleDate, .timestamp, .dismissalDate: (value.number != nil, "a number")
    case .contentAvailable, .mutableContent: (value.integer != nil || value.bool != nil, "1")
    case .contentState, .attributes: (value.object != nil, "an object")
    case .contentChanged: (value.bool != nil, "true")
    }
  }

  /// Whether the key at the root of a payload is so likely misplaced that it is worth a word. `event`, `timestamp` and
  /// `attributes` are common names of custom data.
  var isTelling: Bool {
    switch self {
    case .event, .timestamp, .attributes: false
    default: true
    }
  }
}

/// `interruption-level` (Apple, "Generating a remote notification").
public enum InterruptionLevel: String, Sendable, CaseIterable {
  case passive, active
  case timeSensitive = "time-sensitive"
  case critical

  static var list: String { "one of " + allCases.map(\.rawValue).joined(separator: ", ") }
}
