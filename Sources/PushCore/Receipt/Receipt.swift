import Operations

/// What became of one delivery, as it is read back: the last attempt of a device.
public struct Receipt: Sendable, Equatable {
  /// The device.
  public var deviceID: DeviceID
  /// Its token; nil when the device was removed since.
  public var token: DeviceToken?
  /// Its environment; nil when the device was removed since.
  public var environment: Environment?
  /// What became of it.
  public var outcome: Outcome
  /// The HTTP status of APNs; 0 = APNs was not asked or did not answer.
  public var status: Int
  /// Why.
  public var reason: ReasonID
  /// The text of a reason that only the store knows.
  public var storedReason: String?
  /// When the receipt was written.
  public var at: UnixMilliseconds
  /// Counted sends including the last; nil in packed receipts.
  public var attempts: Int?
  /// From the request's first byte to its answer; nil in packed receipts.
  public var latencyMilliseconds: Int?
  /// `apns-unique-id`, given in the sandbox only.
  public var apnsUniqueID: String?
  /// When the app reported that the push woke it; nil = it has not.
  public var deliveredAt: UnixMilliseconds?
  /// When the app reported that a person opened the push; nil = it has not.
  public var openedAt: UnixMilliseconds?

  /// A receipt by its values.
  public init(
    deviceID: DeviceID, token: DeviceToken?, environment: Environment?, outcome: Outcome, status: Int,
    reason: ReasonID, storedReason: String?, at: UnixMilliseconds, attempts: Int?, latencyMilliseconds: Int?,
    apnsUniqueID: String?
  ) {
    self.deviceID = deviceID
    self.token = token
    self.environment = environment
    self.outcome = outcome
    self.status = status
    self.reason = reason
    self.storedReason = storedReason
    self.at = at
    self.attempts = attempts
    self.latencyMilliseconds = latencyMilliseconds
    self.apnsUniqueID = apnsUniqueID
  }
}

/// Part of a notification's receipts.
public struct ReceiptPage: Sendable, Equatable {
  /// Ascending by device id. A filter can leave a page empty although more follow.
  public var receipts: [Receipt]
  /// Where the next page starts; nil = this was the last.
  public var next: DeviceID?

  /// A page by its parts.
  public init(receipts: [Receipt], next: DeviceID?) {
    self.receipts = receipts
    self.next = next
  }
}

/// Sums over a notification's devices.
public struct Counts: Sendable, Equatable {
  /// Devices the walk has met.
  public var devices = 0
  /// See ``Outcome/accepted``.
  public var accepted = 0
  /// See ``Outcome/rejected``.
  public var rejected = 0
  /// See ``Outcome/expired``.
  public var expired = 0
  /// See ``Outcome/canceled``.
  public var canceled = 0
  /// See ``Outcome/failed``.
  public var failed = 0
  /// See ``Outcome/skipped``.
  public var skipped = 0

  /// All zero.
  public init() {}

  /// Devices met whose outcome is not final.
  public var pending: Int { devices - accepted - rejected - expired - canceled - failed - skipped }

  /// Adds one device's outcome; a pending one changes nothing.
  public mutating func add(_ outcome: Outcome, _ number: Int = 1) {
    switch outcome {
    case .pending: break
    case .accepted: accepted += number
    case .rejected: rejected += number
    case .expired: expired += number
    case .canceled: canceled += number
    case .failed: failed += number
    case .skipped: skipped += number
    }
  }
}

/// Where a notification stands.
public enum NotificationState: String, Sendable, CaseIterable {
  /// Its time has not come.
  case scheduled
  /// Waits for a worker.
  case queued
  /// A worker has it, or had part of it.
  case sending
  /// Its app is paused.
  case held
  /// It killed its worker repeatedly; an operator decides.
  case parked
  /// Every device has its final outcome.
  case done
  /// Canceled.
  case canceled

  /// The state that its row and its open tasks show.
  ///
  /// - Parameters:
  ///   - isLeased, isReady, isHeld: whether any task is so; none of them, and not final: all are parked.
  ///   - hasReceipts: whether devices were settled.
  ///   - isDue: whether its time to be sent has come.
  public init(
    isCanceled: Bool, isDone: Bool, isLeased: Bool, isReady: Bool, isHeld: Bool, hasReceipts: Bool, isDue: Bool
  ) {
    self =
      if isCanceled {
        .canceled
      } else if isDone {
        .done
      } else if isLeased || isReady && hasReceipts {
        .sending
      } else if isReady {
        isDue ? .queued : .scheduled
      } else {
        isHeld ? .held : .parked
      }
  }

  /// Whether nothing more will happen.
  public var isFinal: Bool { self == .done || self == .canceled }
}

/// A notification's state and sums.
public struct NotificationStatus: Sendable, Equatable {
  /// Its id.
  public var id: NotificationID
  /// Where it stands.
  public var state: NotificationState
  /// The topic with its suffix.
  public var topic: String
  /// The lane.
  public var lane: Lane
  /// When it was enqueued.
  public var createdAt: UnixMilliseconds
  /// Not before this; nil = at once.
  public var sendAt: UnixMilliseconds?
  /// When it dies.
  public var expiresAt: UnixMilliseconds
  /// When it became final.
  public var doneAt: UnixMilliseconds?
  /// Whether `counts` covers the whole audience; else `devices` and `pending` are lower bounds.
  public var isComplete: Bool
  /// The sums.
  public var counts: Counts

  /// A status by its values.
  public init(
    id: NotificationID, state: NotificationState, topic: String, lane: Lane, createdAt: UnixMilliseconds,
    sendAt: UnixMilliseconds?, expiresAt: UnixMilliseconds, doneAt: UnixMilliseconds?, isComplete: Bool, counts: Counts
  ) {
    self.id = id
    self.state = state
    self.topic = topic
    self.lane = lane
    self.createdAt = createdAt
    self.sendAt = sendAt
    self.expiresAt = expiresAt
    self.doneAt = doneAt
    self.isComplete = isComplete
    self.counts = counts
  }
}
