import Operations

/// Which notifications a listing shows; all conditions hold together.
public struct NotificationQuery: Sendable, Equatable {
  /// Only in this state.
  public var state: NotificationState?
  /// Only of these apps: their topics and those that extend them (`.voip` …); nil = all.
  public var topics: [String]?

  /// A query without conditions.
  public init(state: NotificationState? = nil, topics: [String]? = nil) {
    self.state = state
    self.topics = topics
  }
}

/// Part of a listing of notifications.
public struct NotificationPage: Sendable, Equatable {
  /// By descending id. A condition can leave a page short, or empty, although more follow.
  public var notifications: [NotificationStatus]
  /// Before which id the next page begins; nil = this was the last.
  public var next: NotificationID?

  /// A page by its parts.
  public init(notifications: [NotificationStatus], next: NotificationID?) {
    self.notifications = notifications
    self.next = next
  }
}

/// A place in the feed of retired devices.
public struct RetirementPlace: Sendable, Equatable, Comparable {
  /// When the device retired.
  public var at: UnixMilliseconds
  /// The device.
  public var device: DeviceID

  /// A place by its parts.
  public init(at: UnixMilliseconds, device: DeviceID) {
    self.at = at
    self.device = device
  }

  /// Orders by time, then by device.
  public static func < (left: Self, right: Self) -> Bool { (left.at, left.device) < (right.at, right.device) }
}

/// Work that waits in one lane.
public struct LaneBacklog: Sendable, Equatable {
  /// The lane.
  public var lane: Lane
  /// When the work that has waited longest became due; nil = none waits.
  public var oldestDueAt: UnixMilliseconds?

  /// A backlog by its parts.
  public init(lane: Lane, oldestDueAt: UnixMilliseconds?) {
    self.lane = lane
    self.oldestDueAt = oldestDueAt
  }
}

/// What people and backends ask a store beside the worker's work: listings and sums.
public protocol OverviewStore: Sendable {
  /// Notifications by descending id, those before `before` (nil = from the newest), at most `limit`.
  func notifications(
    _ query: NotificationQuery, before: NotificationID?, limit: Int
  ) async throws(StoreError) -> NotificationPage
  /// Retired devices behind a place of the feed, in its order, at most `limit`. Without their interests.
  ///
  /// - Parameter topics: only of these apps, see ``NotificationQuery/topics``.
  func retiredDevices(
    topics: [String]?, after: RetirementPlace, limit: Int
  ) async throws(StoreError) -> [Device]
  /// How many active devices subscribe to interests of that name, in these apps (nil = all). Counts them: the time grows with
  /// their number.
  func subscriberCount(of interest: String, topics: [String]?) async throws(StoreError) -> Int
  /// Removes every registered device of a user, in these apps (nil = all), with its subscriptions; returns how many.
  /// What else is kept of the user goes too, once no device is left.
  func removeUser(_ user: String, topics: [String]?) async throws(StoreError) -> Int
  /// The work that is due and waits, a row for each lane.
  func backlog() async throws(StoreError) -> [LaneBacklog]
}

/// A store with everything that a whole relay needs.
public typealias FullStore = Store & APIKeyStore & OverviewStore & SelfServiceStore & WebhookStore
