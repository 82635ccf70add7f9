import Operations
import PushCore

/// What is known of one leased task between two flushes: which devices are open, which are settled and not yet written.
///
/// A value without I/O and clock. Devices come in ascending order and settle in any; the cursor never passes an open one.
struct TaskProgress: Sendable {
  /// A device that has left the walk and has no receipt yet.
  private struct OpenDevice {
    var id: DeviceID
    var credential: CredentialID
    var registeredAt: UnixMilliseconds
    var isSettled: Bool
  }

  /// How one device leaves the task.
  struct Settlement: Sendable, Equatable {
    var outcome: Outcome
    var status: Int = 0
    var reason: ReasonID = .none
    var latencyMilliseconds: Int32 = -1
    var apnsUniqueID: String?
    /// For a pending outcome: where the device goes.
    var next: NextAttempt?
  }

  /// The list a device with a pending outcome joins; devices with the same one share a list.
  struct NextAttempt: Sendable, Hashable {
    var delay: Duration
    var isCounted: Bool
    var isHeld: Bool
  }

  struct News: Sendable {
    var device: DeviceID
    var credential: CredentialID
    var settlement: Settlement
  }

  let task: LeasedTask
  let rowReceipts: Bool
  /// Devices up to this one have left the walk.
  private(set) var walkedThrough: DeviceID
  /// Whether the walk has reached the task's end.
  private(set) var walkHasEnded = false
  /// Receipts written so far: the fence of the next flush.
  private(set) var settledWritten: Int64
  /// Open devices that are with the sender.
  var inFlight = 0

  private var skip: Set<DeviceID>
  private var open: [OpenDevice] = []
  private var openStart = 0  // index in `open` of the first device that is not forgotten
  private var openBase = 0  // position of open[0]
  private var accepted: [DeviceID] = []
  private var others: [News] = []
  private(set) var openCount = 0

  /// - Parameter alreadySettled: devices behind the cursor with a receipt from an earlier owner.
  init(task: LeasedTask, rowReceipts: Bool, alreadySettled: [DeviceID]) {
    self.task = task
    self.rowReceipts = rowReceipts
    walkedThrough = task.cursor
    settledWritten = task.settled
    skip = Set(alreadySettled)
  }

  /// Receipts not written yet.
  var newsCount: Int { accepted.count + others.count }

  /// Whether nothing is left to do but the last flush.
  var isFinished: Bool { walkHasEnded && openCount == 0 }

  /// Takes the devices of a walk in; returns the position of the first, or nil for one that has its receipt already.
  mutating func open(id: DeviceID, credential: CredentialID, registeredAt: UnixMilliseconds) -> Int? {
    if !skip.isEmpty, skip.contains(id) { return nil }
    open.append(OpenDevice(id: id, credential: credential, registeredAt: registeredAt, isSettled: false))
    openCount += 1
    return openBase + open.count - 1
  }

  /// Notes how far the walk has come.
  mutating func walked(through id: DeviceID, atEnd: Bool) {
    walkedThrough = id
    walkHasEnded = atEnd
  }

  /// The device at a position, and when it registered.
  func device(at position: Int) -> (id: DeviceID, credential: CredentialID, registeredAt: UnixMilliseconds) {
    let device = open[position - openBase]
    return (device.id, device.credential, device.registeredAt)
  }

  /// Settles the device at a position; the second answer for one device changes nothing.
  mutating func settle(_ position: Int, _ settlement: Settlement) {
    let index = position - openBase
    guard index >= openStart, !open[index].isSettled else { return }
    open[index].isSettled = true
    openCount -= 1
    if settlement.outcome == .accepted, !rowReceipts {
      accepted.append(open[index].id)
    } else {
      others.append(News(device: open[index].id, credential: open[index].credential, settlement: settlement))
    }
    forgetSettled()
  }

  /// Drops settled devices from the front, so that the open ones stay few.
  private mutating func forgetSettled() {
    while openStart < open.count, open[openStart].isSettled { openStart += 1 }
    if openStart == open.count {
      openBase += open.count
      open.removeAll(keepingCapacity: true)
      openStart = 0
    } else if openStart >= 4096 {
      openBase += openStart
      open.removeFirst(openStart)
      openStart = 0
    }
  }

  /// Every device of the task up to this one is settled.
  var cursor: DeviceID {
    openStart < open.count ? DeviceID(open[openStart].id.rawValue - 1) : walkedThrough
  }
}

extension TaskProgress {
  /// Takes everything settled since the last flush out, as one flush.
  ///
  /// - Parameters:
  ///   - ends: whether the task ends with it.
  ///   - cut: whether a range ends before its end.
  mutating func takeFlush(ends: Bool, cut: Bool) -> TaskFlush {
    let lists = newLists()
    let count = newsCount
    var counts = Counts()
    counts.devices = task.attempt == 0 ? count : 0
    counts.add(.accepted, accepted.count)
    for news in others { counts.add(news.settlement.outcome) }
    let flush = TaskFlush(
      task: task.id, notificationID: task.notificationID, epoch: task.epoch, settledBefore: settledWritten,
      attempt: task.attempt, cursor: cursor, count: count, receipts: receipts(), counts: counts, lists: lists,
      ends: ends, cut: cut)
    settledWritten += Int64(count)
    accepted.removeAll(keepingCapacity: true)
    others.removeAll(keepingCapacity: true)
    return flush
  }

  private mutating func receipts() -> TaskFlush.Receipts {
    if newsCount == 0 { return .none }
    others.sort { $0.device < $1.device }
    if rowReceipts {
      return .rows(
        others.map { news in
          let settlement = news.settlement
          return ReceiptRow(
            device: news.device, outcome: settlement.outcome, status: settlement.status, reason: settlement.reason,
            tries: task.tries + (settlement.isCountedSend ? 1 : 0),
            latencyMilliseconds: settlement.latencyMilliseconds < 0 ? nil : Int(settlement.latencyMilliseconds),
            apnsUniqueID: settlement.apnsUniqueID)
        })
    }
    accepted.sort()
    return .packed(merged())
  }

  /// The ids of `accepted` and `others` in one ascending row, with the places of the others.
  private func merged() -> ReceiptChunk {
    var devices: [DeviceID] = []
    devices.reserveCapacity(newsCount)
    var exceptions: [ReceiptChunk.Exception] = []
    exceptions.reserveCapacity(others.count)
    var next = 0
    for news in others {
      while next < accepted.count, accepted[next] < news.device {
        devices.append(accepted[next])
        next += 1
      }
      let settlement = news.settlement
      exceptions.append(
        .init(
          index: devices.count, status: settlement.status, reason: settlement.reason, outcome: settlement.outcome))
      devices.append(news.device)
    }
    devices.append(contentsOf: accepted[next...])
    return ReceiptChunk(devices: devices, exceptions: exceptions)
  }

  /// One list per (way on, credential); in a fixed order.
  private func newLists() -> [NewList] {
    struct Key: Hashable {
      var next: NextAttempt
      var credential: CredentialID
    }
    var groups: [Key: [DeviceID]] = [:]
    for news in others {
      if let next = news.settlement.next {
        groups[Key(next: next, credential: news.credential), default: []].append(news.device)
      }
    }
    return groups.map { key, devices in
      NewList(
        devices: devices.sorted(), delay: key.next.delay, credentialID: key.credential, isCounted: key.next.isCounted,
        isHeld: key.next.isHeld)
    }.sorted { ($0.devices.first?.rawValue ?? 0) < ($1.devices.first?.rawValue ?? 0) }
  }
}

extension TaskProgress.Settlement {
  /// Whether a request was sent for it and answered, or failed on the way.
  var isCountedSend: Bool {
    switch outcome {
    case .accepted, .rejected, .failed: true
    case .pending: next?.isCounted ?? false
    case .expired: status != 0 || reason != .none
    case .canceled, .skipped: false
    }
  }
}
