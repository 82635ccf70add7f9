import Operations

/// Whom a notification is for, by the names its sender uses; any mix, and one device gets one copy.
public struct Target: Sendable, Equatable {
  /// Interest names of the topic.
  public var interests: [String]
  /// User ids.
  public var users: [String]
  /// Device tokens, normalized.
  public var tokens: [DeviceToken]
  /// Every registered device of the topic.
  public var everyone: Bool

  /// A target by its parts.
  public init(
    interests: [String] = [], users: [String] = [], tokens: [DeviceToken] = [],
    everyone: Bool = false
  ) {
    self.interests = interests
    self.users = users
    self.tokens = tokens
    self.everyone = everyone
  }

  /// Whether it names nobody.
  public var isEmpty: Bool { interests.isEmpty && users.isEmpty && tokens.isEmpty && !everyone }
}

/// When a notification dies. One deadline governs everything: after it nothing is sent and retries stop.
public enum Deadline: Sendable, Equatable {
  /// So long after its time to be sent; the default is 24 hours.
  case after(Duration)
  /// At this wall-clock time.
  case at(UnixMilliseconds)
  /// `apns-expiration: 0`: one attempt, within 60 seconds.
  case immediate

  /// How long the one attempt of ``immediate`` may take.
  public static let immediateLifetime: Duration = .seconds(60)

  /// The wall-clock time of the deadline of a notification that may be sent from `start` on.
  public func time(from start: UnixMilliseconds) -> UnixMilliseconds {
    switch self {
    case .after(let duration): UnixMilliseconds(start.value + duration.wholeMilliseconds)
    case .at(let time): time
    case .immediate: UnixMilliseconds(start.value + Self.immediateLifetime.wholeMilliseconds)
    }
  }
}

/// What makes a repeated enqueue the same enqueue.
public struct IdempotencyKey: Sendable, Equatable {
  /// Who chose the key: an API key's id, 0 for the local command line.
  public let scope: Int64
  /// The caller's key.
  public let key: String
  /// SHA-256 of the request; another hash under the same key is a conflict.
  public let requestHash: [UInt8]

  /// A key with its scope and request.
  public init(scope: Int64, key: String, requestHash: [UInt8]) {
    self.scope = scope
    self.key = key
    self.requestHash = requestHash
  }
}

/// A notification that was checked and may be stored: nothing in it can be refused by our own rules any more.
public struct Publication: Sendable, Equatable {
  /// How long a notification lives when its sender says nothing.
  public static let defaultLifetime: Duration = .seconds(86_400)

  /// The topic with its suffix.
  public var topic: String
  /// Whom it is for.
  public var target: Target
  /// The values of the target's names for the payload's placeholders; nil = every device gets the payload as it is.
  public var recipientValues: RecipientValues?
  /// The environment of the devices meant; nil = each device's own.
  public var environment: Environment?
  /// The environment given to tokens that are not registered, when `environment` is nil.
  public var defaultEnvironment: Environment
  /// The payload, byte for byte as its writer spelled it.
  public var payload: [UInt8]
  /// The headers.
  public var headers: PushHeaders
  /// The order of service.
  public var lane: Lane
  /// When it dies.
  public var deadline: Deadline
  /// Not before this time; nil = now.
  public var sendAt: UnixMilliseconds?
  /// Whether users bound without a verified token are reached too.
  public var reachesUnverifiedUsers: Bool
  /// Set when a repeat must not enqueue again.
  public var idempotencyKey: IdempotencyKey?

  /// A publication by its parts.
  public init(
    topic: String, target: Target, environment: Environment? = nil,
    defaultEnvironment: Environment = .production,
    payload: [UInt8], headers: PushHeaders, lane: Lane,
    deadline: Deadline = .after(defaultLifetime),
    sendAt: UnixMilliseconds? = nil, reachesUnverifiedUsers: Bool = false,
    idempotencyKey: IdempotencyKey? = nil
  ) {
    self.topic = topic
    self.target = target
    self.environment = environment
    self.defaultEnvironment = defaultEnvironment
    self.payload = payload
    self.headers = headers
    self.lane = lane
    self.deadline = deadline
    self.sendAt = sendAt
    self.reachesUnverifiedUsers = reachesUnverifiedUsers
    self.idempotencyKey = idempotencyKey
  }
}

/// What became of an enqueue.
public enum PublishResult: Sendable, Equatable {
  /// Stored durably under a new id; so many devices are expected by the counts at hand.
  case stored(NotificationID, expectedDevices: Int)
  /// The idempotency key was used for the same request: its id, nothing new.
  case repeated(NotificationID)
  /// The idempotency key was used for another request: nothing stored.
  case conflict(NotificationID)
}
