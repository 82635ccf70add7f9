import Operations

/// A notification as its sender wrote it, in options, a batch row or an HTTP body: everything may be absent, nothing is
/// checked.
public struct NotificationRequest: Sendable, Equatable {
  /// The bundle id, or the topic with its suffix.
  public var topic: String?
  /// Interest names.
  public var interests: [String] = []
  /// User ids.
  public var users: [String] = []
  /// Device tokens, in any of the forms that apps print.
  public var tokens: [String] = []
  /// Every registered device of the topic.
  public var everyone = false
  /// Whom it is for, each with values for the payload's placeholders; nil = interests, users, tokens or everyone say it.
  public var recipients: [Recipient]?
  /// The payload, byte for byte.
  public var payload: [UInt8]?
  /// `apns-push-type`.
  public var pushType: String?
  /// `apns-priority`.
  public var priority: Int64?
  /// How long the notification lives from its time to be sent.
  public var expiresIn: Duration?
  /// `apns-expiration`: UNIX seconds, or 0.
  public var expiration: Int64?
  /// `apns-collapse-id`.
  public var collapseID: String?
  /// `apns-id`; for one device token only.
  public var apnsID: String?
  /// Not before this time.
  public var sendAt: UnixMilliseconds?
  /// The order of service.
  public var lane: String?
  /// The environment of the devices meant.
  public var environment: String?
  /// What was found while the request was read: values of a wrong type, unknown fields.
  public var readingFaults: [NotificationFinding] = []

  /// An empty request.
  public init() {}

  /// Whether it names nobody.
  public var hasNoTarget: Bool {
    interests.isEmpty && users.isEmpty && tokens.isEmpty && !everyone && recipients?.isEmpty ?? true
  }
}

/// What stands in for the values that a request leaves away.
public struct NotificationDefaults: Sendable, Equatable {
  /// The topic when there is only one.
  public var topic: String?
  /// The environment of tokens that are not registered.
  public var environment: Environment
  /// The lane when neither the request nor its payload asks for one; batches say `bulk`.
  public var lane: Lane
  /// Whether users bound without a verified token are reached too.
  public var reachesUnverifiedUsers: Bool

  /// Defaults by their values.
  public init(
    topic: String? = nil, environment: Environment = .production, lane: Lane = .normal,
    reachesUnverifiedUsers: Bool = false
  ) {
    self.topic = topic
    self.environment = environment
    self.lane = lane
    self.reachesUnverifiedUsers = reachesUnverifiedUsers
  }
}

extension NotificationRequest {
  /// Checks everything and gives the notification that may be stored, with what is legal and yet probably not meant.
  /// - Throws: every fault of the request, not only the first.
  public func publication(
    now: UnixMilliseconds, defaults: NotificationDefaults
  ) throws(NotificationFaults) -> (publication: Publication, warnings: [NotificationFinding]) {
    var checker = NotificationChecker(request: self, now: now, defaults: defaults)
    return try checker.check()
  }
}
