/// The rules for `apns-topic`: a bundle id, or a bundle id with the suffix of a push type.
public enum Topic {
  /// The most characters taken; far beyond any bundle id.
  static let maximumLength = 255

  /// What is wrong with the spelling of a topic; nil when nothing is.
  public static func fault(in topic: String) -> String? {
    guard !topic.isEmpty else { return "the topic is empty; give the bundle id of the app" }
    guard topic.utf8.count <= maximumLength else {
      return "the topic has \(topic.utf8.count) characters, limit \(maximumLength)"
    }
    let isAllowed = topic.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"),
        UInt8(ascii: "_"):
        true
      default: false
      }
    }
    return isAllowed
      ? nil : "the topic has characters that no bundle id has; write it like com.example.app"
  }

  /// The topic for a push of `type`, from a bundle id or a topic with that suffix already.
  /// - Returns: the topic, or why the two do not go together.
  static func resolve(_ topic: String, for type: PushType) -> (topic: String?, fault: String?) {
    let suffix = type.rules.topicSuffix
    let carried = PushType(suffixOf: topic)
    if carried == type { return (topic, nil) }
    if let carried {
      let own = carried.rules.topicSuffix
      return (
        nil,
        "the topic ends in \(own), which is for the push type \(carried.rawValue), not \(type.rawValue); leave \(own) away"
      )
    }
    return (topic + suffix, nil)
  }
}
