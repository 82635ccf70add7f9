/// The rules for `apns-topic` and push types together; its spelling is `TopicText`'s.
public enum Topic {
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
