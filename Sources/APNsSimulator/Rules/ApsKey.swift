import JSON

/// What Apple's payload key reference says about the value of a key of `aps`.
enum ApsKey {
  case text
  case number
  case flag
  case truth
  case object
  case texts
  case textOrObject
  case oneOf([String])

  /// Every key of `aps`.
  static let all: [String: ApsKey] = [
    "alert": .textOrObject,
    "badge": .number,
    "sound": .textOrObject,
    "thread-id": .text,
    "category": .text,
    "content-available": .flag,
    "mutable-content": .flag,
    "target-content-id": .text,
    "interruption-level": .oneOf(["passive", "active", "time-sensitive", "critical"]),
    "relevance-score": .number,
    "filter-criteria": .text,
    "stale-date": .number,
    "content-state": .object,
    "timestamp": .number,
    "event": .oneOf(["start", "update", "end"]),
    "dismissal-date": .number,
    "attributes-type": .text,
    "attributes": .object,
    "input-push-token": .flag,
    "input-push-channel": .text,
    "content-changed": .truth,
    "url-args": .texts,
  ]

  /// What is wrong with a value, as the end of a sentence; nil: nothing.
  func fault(_ value: JSONValue) -> String? {
    switch self {
    case .text: value.string == nil ? "should be a string" : nil
    case .number: value.number == nil ? "should be a number" : nil
    case .flag: value.integer == 0 || value.integer == 1 ? nil : "should be 1"
    case .truth: value.bool == nil ? "should be true" : nil
    case .object: value.object == nil ? "should be an object" : nil
    case .texts: value.array?.allSatisfy { $0.string != nil } == true ? nil : "should be an array of strings"
    case .textOrObject: value.string == nil && value.object == nil ? "should be a string or an object" : nil
    case .oneOf(let words):
      value.string.map(words.contains) == true ? nil : "should be one of \(words.joined(separator: ", "))"
    }
  }
}
