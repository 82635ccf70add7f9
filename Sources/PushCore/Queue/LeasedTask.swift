import Operations

/// A task that this worker has leased: a range (lo, hi] of device ids, or a packed list of them.
public struct LeasedTask: Sendable, Equatable {
  /// Its id.
  public var id: TaskID
  /// The notification it delivers.
  public var notificationID: NotificationID
  /// The app.
  public var appID: AppID
  /// The credential of all its devices; nil = several of the app.
  public var credentialID: CredentialID?
  /// The lane it was claimed from.
  public var lane: Lane
  /// When it was due.
  public var dueAt: UnixMilliseconds
  /// Numbers the receipts: each device leaves an attempt once.
  public var attempt: Int
  /// Counted sends so far.
  public var tries: Int
  /// Devices above this id …
  public var lo: DeviceID
  /// … up to this one.
  public var hi: DeviceID
  /// Every device of the range up to this one is settled.
  public var cursor: DeviceID
  /// The newest registration that a range reaches.
  public var sequenceLimit: Int64
  /// Number of devices where known, else 0.
  public var deviceCount: Int
  /// Receipts written by this task; part of the fence.
  public var settled: Int64
  /// Grows with each claim; part of the fence.
  public var epoch: Int64
  /// The devices, ascending, when the task is a list.
  public var list: [DeviceID]?
  /// Time left until the notification's deadline, by the store's clock, when it was claimed.
  public var timeLeft: Duration
  /// Whether the notification was canceled: settle, send nothing.
  public var isCanceled: Bool

  /// A task by its columns.
  public init(
    id: TaskID, notificationID: NotificationID, appID: AppID, credentialID: CredentialID?, lane: Lane,
    dueAt: UnixMilliseconds, attempt: Int, tries: Int, lo: DeviceID, hi: DeviceID, cursor: DeviceID,
    sequenceLimit: Int64, deviceCount: Int, settled: Int64, epoch: Int64, list: [DeviceID]?, timeLeft: Duration,
    isCanceled: Bool
  ) {
    self.id = id
    self.notificationID = notificationID
    self.appID = appID
    self.credentialID = credentialID
    self.lane = lane
    self.dueAt = dueAt
    self.attempt = attempt
    self.tries = tries
    self.lo = lo
    self.hi = hi
    self.cursor = cursor
    self.sequenceLimit = sequenceLimit
    self.deviceCount = deviceCount
    self.settled = settled
    self.epoch = epoch
    self.list = list
    self.timeLeft = timeLeft
    self.isCanceled = isCanceled
  }
}

/// What a claim asks for.
public struct ClaimRequest: Sendable {
  /// The lane.
  public var lane: Lane
  /// This process start.
  public var owner: Int64
  /// How long the lease holds without renewal.
  public var lease: Duration
  /// Only tasks that became due within this time; nil = all.
  public var window: Duration?
  /// The credentials this worker can sign for.
  public var credentials: [CredentialID]
  /// The most tasks.
  public var limit: Int

  /// A request by its parts.
  public init(
    lane: Lane, owner: Int64, lease: Duration, window: Duration?, credentials: [CredentialID], limit: Int
  ) {
    self.lane = lane
    self.owner = owner
    self.lease = lease
    self.window = window
    self.credentials = credentials
    self.limit = limit
  }
}

/// A task whose lease had run out.
public struct ReapedTask: Sendable, Equatable {
  /// Its id.
  public var id: TaskID
  /// Its notification.
  public var notificationID: NotificationID
  /// Its lane.
  public var lane: Lane
  /// Whether it was parked: five claims without progress.
  public var isParked: Bool

  /// A reaped task by its columns.
  public init(id: TaskID, notificationID: NotificationID, lane: Lane, isParked: Bool) {
    self.id = id
    self.notificationID = notificationID
    self.lane = lane
    self.isParked = isParked
  }
}

/// The notification behind a task: what the worker needs to send it.
public struct StoredNotification: Sendable, Equatable {
  /// Its id.
  public var id: NotificationID
  /// The topic with its suffix.
  public var topic: String
  /// When it dies.
  public var expiresAt: UnixMilliseconds
  /// Whether each device has a receipt row of its own.
  public var rowReceipts: Bool
  /// Whom it is for.
  public var target: PackedTarget
  /// The headers.
  public var headers: PushHeaders
  /// The payload; nil when it was erased after the final state.
  public var payload: [UInt8]?
  /// The values of its recipients; nil = every device gets the payload as it is.
  public var substitutions: Substitutions?

  /// A notification by its columns.
  public init(
    id: NotificationID, topic: String, expiresAt: UnixMilliseconds, rowReceipts: Bool, target: PackedTarget,
    headers: PushHeaders, payload: [UInt8]?, substitutions: Substitutions? = nil
  ) {
    self.id = id
    self.topic = topic
    self.expiresAt = expiresAt
    self.rowReceipts = rowReceipts
    self.target = target
    self.headers = headers
    self.payload = payload
    self.substitutions = substitutions
  }
}

/// How many ranges a notification's audience is cut into, and where.
public enum RangePlan {
  /// Devices a range is meant to hold.
  public static let devicesPerRange = 25_000

  /// The ranges (lo, hi] that together hold every device id; one for lane 0 and for small audiences, at most 256.
  public static func ranges(expectedDevices: Int, lane: Lane) -> [(lo: DeviceID, hi: DeviceID)] {
    let wanted = expectedDevices / devicesPerRange + (expectedDevices.isMultiple(of: devicesPerRange) ? 0 : 1)
    let count = Int64(lane == .urgent ? 1 : min(max(wanted, 1), 256))
    return (0..<count).map { index in
      let lower = DeviceID.bucketCount * index / count
      let upper = DeviceID.bucketCount * (index + 1) / count
      return (DeviceID(lower << 40), DeviceID(upper << 40))
    }
  }
}
