/// The push types of `apns-push-type`; the raw value is the word on the wire.
///
/// One table of what Apple's pages say about each: the topic's suffix, the payload limit, priority and expiration.
public enum PushType: String, Sendable, Hashable, CaseIterable {
  case alert
  case background
  case voip
  case complication
  case fileprovider
  case mdm
  case location
  case liveactivity
  case pushtotalk
  case widgets
  case controls

  /// What follows the bundle id in the topic; nil: the topic is the bundle id (or, for mdm, the certificate's UID) itself.
  var topicSuffix: String? {
    switch self {
    case .alert, .background, .mdm: nil
    case .voip: ".voip"
    case .complication: ".complication"
    case .fileprovider: ".pushkit.fileprovider"
    case .location: ".location-query"
    case .liveactivity: ".push-type.liveactivity"
    case .pushtotalk: ".voip-ptt"
    case .widgets: ".push-type.widgets"
    case .controls: ".push-type.controls"
    }
  }

  /// The largest payload in bytes.
  var payloadLimitBytes: Int { self == .voip ? 5120 : PushType.usualPayloadLimitBytes }

  /// The largest payload of every type but voip, in bytes.
  static let usualPayloadLimitBytes = 4096

  /// The priorities that Apple's page of the type allows; nil: no word about it.
  var priorities: [Int]? {
    switch self {
    case .alert, .location, .liveactivity: [10, 5]
    case .background: [5, 1]
    case .pushtotalk: [10]
    case .voip, .complication, .fileprovider, .mdm, .widgets, .controls: nil
    }
  }

  /// Whether another priority is refused; for the other types the reaction is not documented, so they get a warning.
  var enforcesPriority: Bool { self == .background }

  /// Whether the payload of this type has an `aps` object.
  var needsAps: Bool {
    switch self {
    case .alert, .background, .liveactivity, .widgets, .controls: true
    case .voip, .complication, .fileprovider, .mdm, .location, .pushtotalk: false
    }
  }

  /// The type whose suffix a topic ends with; nil: a topic without a known suffix.
  static func ofSuffix(in topic: String) -> PushType? {
    allCases.first { type in type.topicSuffix.map { topic.hasSuffix($0) } ?? false }
  }
}
