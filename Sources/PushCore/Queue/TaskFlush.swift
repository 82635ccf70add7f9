import Operations

/// The news of one task that a flush writes, all or nothing, if the lease still holds.
public struct TaskFlush: Sendable, Equatable {
  /// The receipts of a flush.
  public enum Receipts: Sendable, Equatable {
    /// None.
    case none
    /// Packed, not empty.
    case packed(ReceiptChunk)
    /// A row a device.
    case rows([ReceiptRow])
  }

  /// The task.
  public var task: TaskID
  /// Its notification.
  public var notificationID: NotificationID
  /// Its epoch.
  public var epoch: Int64
  /// Receipts the task had written before: the fence against writing a flush twice.
  public var settledBefore: Int64
  /// Its attempt.
  public var attempt: Int
  /// Every device of the range up to this one is settled.
  public var cursor: DeviceID
  /// Number of receipts, also of those whose outcome is not final.
  public var count: Int
  /// The receipts.
  public var receipts: Receipts
  /// What to add to the notification's sums; `devices` only for attempt 0.
  public var counts: Counts
  /// New list tasks: retries and held devices.
  public var lists: [NewList]
  /// Whether the task ends with this flush.
  public var ends: Bool
  /// Whether a range ends before its end (canceled): the notification is then never complete.
  public var cut: Bool

  /// A flush by its parts.
  public init(
    task: TaskID, notificationID: NotificationID, epoch: Int64, settledBefore: Int64, attempt: Int, cursor: DeviceID,
    count: Int, receipts: Receipts, counts: Counts, lists: [NewList], ends: Bool, cut: Bool
  ) {
    self.task = task
    self.notificationID = notificationID
    self.epoch = epoch
    self.settledBefore = settledBefore
    self.attempt = attempt
    self.cursor = cursor
    self.count = count
    self.receipts = receipts
    self.counts = counts
    self.lists = lists
    self.ends = ends
    self.cut = cut
  }
}

/// One receipt of a notification that keeps a row a device.
public struct ReceiptRow: Sendable, Equatable {
  /// The device.
  public var device: DeviceID
  /// What became of it.
  public var outcome: Outcome
  /// The HTTP status of APNs; 0 = APNs was not asked or did not answer.
  public var status: Int
  /// Why.
  public var reason: ReasonID
  /// Counted sends including this one.
  public var tries: Int
  /// From the request's first byte to its answer.
  public var latencyMilliseconds: Int?
  /// `apns-unique-id`.
  public var apnsUniqueID: String?

  /// A row by its values.
  public init(
    device: DeviceID, outcome: Outcome, status: Int, reason: ReasonID, tries: Int, latencyMilliseconds: Int?,
    apnsUniqueID: String?
  ) {
    self.device = device
    self.outcome = outcome
    self.status = status
    self.reason = reason
    self.tries = tries
    self.latencyMilliseconds = latencyMilliseconds
    self.apnsUniqueID = apnsUniqueID
  }
}

/// Devices that leave a task for a later attempt: one list per delay and credential.
public struct NewList: Sendable, Equatable {
  /// The devices, ascending, not empty.
  public var devices: [DeviceID]
  /// How long to wait.
  public var delay: Duration
  /// The credential of all of them; nil = several of the app.
  public var credentialID: CredentialID?
  /// Whether the send is counted as a try: it was sent, and APNs or the network failed it.
  public var isCounted: Bool
  /// Whether it waits for its credential (state held) instead of for its time.
  public var isHeld: Bool

  /// A list by its parts.
  public init(devices: [DeviceID], delay: Duration, credentialID: CredentialID?, isCounted: Bool, isHeld: Bool) {
    self.devices = devices
    self.delay = delay
    self.credentialID = credentialID
    self.isCounted = isCounted
    self.isHeld = isHeld
  }
}

/// A device that APNs said is gone.
public struct Retirement: Sendable, Equatable {
  /// The device.
  public var device: DeviceID
  /// It is retired only if it registered before this time.
  public var registeredBefore: UnixMilliseconds
  /// What APNs said.
  public var reason: ReasonID

  /// A retirement by its parts.
  public init(device: DeviceID, registeredBefore: UnixMilliseconds, reason: ReasonID) {
    self.device = device
    self.registeredBefore = registeredBefore
    self.reason = reason
  }
}

/// What a flush or renewal found out about a task.
public enum LeaseState: Sendable, Equatable {
  /// The lease holds and was renewed, or the task ended as asked.
  case kept
  /// The same, and the notification was canceled: send nothing more.
  case canceled
  /// Another worker has the task, or it is gone: drop everything of it. Nothing was written.
  case lost
}

/// A leased task as release and renewal name it.
public struct LeaseReference: Sendable, Hashable {
  /// The task.
  public var task: TaskID
  /// Its epoch.
  public var epoch: Int64

  /// A reference by its parts.
  public init(task: TaskID, epoch: Int64) {
    self.task = task
    self.epoch = epoch
  }
}

/// Where a released task goes.
public enum ReleaseTo: Sendable, Equatable {
  /// Back to its lane, the claim given back uncounted.
  case ready(Lane)
  /// Aside, until its credential is resumed.
  case held
}
