/// Which topics may be pushed to, and which of them fit a push type.
public struct TopicRules: Sendable {
  /// The bundle ids of the credential, each standing for its suffixed topics too; empty: any.
  public var bundleIDs: [String]
  /// Topics taken away from a key, or with nil from all keys.
  private var removed: [(topic: String, keyID: String?)] = []

  /// Rules for the given bundle ids; empty: any.
  public init(bundleIDs: [String] = []) { self.bundleIDs = bundleIDs }

  /// Takes a topic away from a key, or with nil from all keys.
  mutating func remove(_ topic: String, keyID: String?) { removed.append((topic, keyID)) }

  /// Refuses an absent, malformed or foreign topic.
  /// - Returns: the topic.
  func check(_ topic: String?, of credential: Credential) throws(Rejection) -> String {
    guard let topic else { throw Rejection(.missingTopic) }
    guard Self.isWellFormed(topic) else { throw Rejection(.badTopic) }
    guard !isRemoved(topic, of: credential), credential.covers(topic) else { throw Rejection(.topicDisallowed) }
    let isListed = bundleIDs.contains(Self.bundleID(of: topic)) || bundleIDs.contains(topic)
    guard bundleIDs.isEmpty || isListed else { throw Rejection(.topicDisallowed) }
    return topic
  }

  /// Refuses the app in a path when its bundle id is malformed or has a topic's suffix, or is not of the credential.
  func check(bundleID: String, of credential: Credential) throws(Rejection) {
    guard Self.isWellFormed(bundleID) else { throw Rejection(.badTopic) }
    let isListed = bundleIDs.contains(bundleID)
    let hasSuffix = Self.bundleID(of: bundleID) != bundleID || bundleID.contains(".push-type.")
    // An app may be called so itself.
    guard isListed || !hasSuffix else { throw Rejection(.topicDisallowed) }
    guard isListed || bundleIDs.isEmpty, !isRemoved(bundleID, of: credential), credential.covers(bundleID) else {
      throw Rejection(.topicMismatch)
    }
  }

  /// The topic without the suffix of a push type.
  static func bundleID(of topic: String) -> String {
    PushType.ofSuffix(in: topic)?.topicSuffix.map { String(topic.dropLast($0.count)) } ?? topic
  }

  private func isRemoved(_ topic: String, of credential: Credential) -> Bool {
    removed.contains { $0.topic == topic && ($0.keyID == nil || $0.keyID == credential.keyID) }
  }

  /// Refuses a topic that belongs to another push type.
  ///
  /// Reactions as seen: a bundle id with `voip` is `DeviceTokenNotForTopic`, a misspelt `.push-type.` suffix is
  /// `TopicDisallowed`, every other mismatch `InvalidPushType`.
  func check(_ topic: String, fits type: PushType) throws(Rejection) {
    let suffixType = PushType.ofSuffix(in: topic)
    if let suffixType {
      guard suffixType == type else { throw Rejection(.invalidPushType) }
      return
    }
    if topic.contains(".push-type.") { throw Rejection(.topicDisallowed) }
    guard type.topicSuffix != nil else { return }
    throw Rejection(type == .voip ? .deviceTokenNotForTopic : .invalidPushType)
  }

  /// Labels of letters, digits, `-` and `_`, parted by single dots, at most 255 bytes.
  public static func isWellFormed(_ topic: String) -> Bool {
    guard !topic.isEmpty, topic.utf8.count <= 255 else { return false }
    return topic.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
      !label.isEmpty
        && label.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
          default: false
          }
        }
    }
  }
}
