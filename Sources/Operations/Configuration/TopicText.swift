/// The spelling of topics: a bundle id, or a bundle id with the suffix of a kind of push.
public enum TopicText {
  /// The most characters taken; far beyond any bundle id.
  static let maximumLength = 255

  /// What Apple appends to a bundle id for kinds of push
  /// (https://developer.apple.com/documentation/usernotifications/sending-notification-requests-to-apns).
  public enum Suffix: String, Sendable, CaseIterable {
    /// Calls.
    case voip = ".voip"
    /// Push to Talk.
    case pushToTalk = ".voip-ptt"
    /// Watch complications.
    case complication = ".complication"
    /// File providers.
    case fileProvider = ".pushkit.fileprovider"
    /// Location queries.
    case location = ".location-query"
    /// Live Activities.
    case liveActivity = ".push-type.liveactivity"
    /// Widgets.
    case widgets = ".push-type.widgets"
    /// Controls.
    case controls = ".push-type.controls"
  }

  /// What is wrong with the spelling of a topic; nil when nothing is.
  public static func fault(in topic: String) -> String? {
    guard !topic.isEmpty else { return "the topic is empty; give the bundle id of the app" }
    guard topic.utf8.count <= maximumLength else {
      return "the topic has \(topic.utf8.count) characters, limit \(maximumLength)"
    }
    let isAllowed = topic.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
        true
      default: false
      }
    }
    return isAllowed ? nil : "the topic has characters that no bundle id has; write it like com.example.app"
  }

  /// Whether a topic is an app's own or extends it by a suffix.
  public static func belongs(_ topic: String, to app: String) -> Bool {
    topic == app || Suffix.allCases.contains { topic == app + $0.rawValue }
  }

  /// The bundle id of a topic, when the topic has a suffix; else the topic itself.
  public static func bundleID(of topic: String) -> String {
    let suffix = Suffix.allCases.first { topic.hasSuffix($0.rawValue) && topic.utf8.count > $0.rawValue.utf8.count }
    return String(topic.dropLast(suffix?.rawValue.count ?? 0))
  }
}
