import Operations

/// What the simulator knows about a device token.
public enum DeviceState: Sendable, Equatable {
  /// Takes pushes.
  case ok
  /// Takes pushes, which are stored until it is `ok` again.
  case offline
  /// Gone since a time, or, with nil, since the time of each answer.
  case unregistered(since: UnixMilliseconds?)
  /// Not a token of this environment.
  case bad
  /// The token of another topic.
  case otherTopic
}

extension DeviceState {
  /// A state by its words: `ok`, `offline`, `unregistered`, `unregistered@MILLISECONDS`, `bad` or `other-topic`; nil for any other.
  public init?(_ text: String) {
    let prefix = "unregistered@"
    switch text {
    case "ok": self = .ok
    case "offline": self = .offline
    case "bad": self = .bad
    case "other-topic": self = .otherTopic
    case "unregistered": self = .unregistered(since: nil)
    default:
      guard text.hasPrefix(prefix), let time = Int64(text.dropFirst(prefix.count)) else { return nil }
      self = .unregistered(since: UnixMilliseconds(time))
    }
  }
}

/// The device tokens with a fate of their own; all others share one.
public struct DeviceRegistry: Sendable {
  private var states: [String: DeviceState] = [:]
  /// The fate of device tokens that are not listed.
  public var unlisted: DeviceState

  /// A registry; strict means that device tokens not listed are bad.
  public init(strict: Bool = false) { unlisted = strict ? .bad : .ok }

  /// The state of a device token; upper and lower case are the same token.
  public subscript(deviceToken: String) -> DeviceState {
    get { states[deviceToken.lowercased()] ?? unlisted }
    set { states[deviceToken.lowercased()] = newValue }
  }

  /// Whether a text is whole bytes in hexadecimal digits, at least one; device tokens have no fixed length.
  public static func isDeviceToken(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count.isMultiple(of: 2) && text.utf8.allSatisfy { $0.hexDigitValue != nil }
  }

  /// Refuses what is no device token or may not be pushed to.
  func check(_ deviceToken: String, now: UnixMilliseconds) throws(Rejection) {
    guard Self.isDeviceToken(deviceToken) else { throw Rejection(.badDeviceToken) }
    switch self[deviceToken] {
    case .ok, .offline: return
    case .unregistered(let since): throw Rejection(.unregistered, timestamp: since ?? now)
    case .bad: throw Rejection(.badDeviceToken)
    case .otherTopic: throw Rejection(.deviceTokenNotForTopic)
    }
  }
}
