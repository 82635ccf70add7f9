import Operations
import PushCore

/// A leased task while a lane loop works on it. Confined to the loop's actor.
final class TaskRun {
  /// Devices of one credential that wait to be handed to the sender.
  struct Waiting {
    var credential: CredentialID
    var devices = DeviceWindow()
    var positions: [Int] = []
  }

  let task: LeasedTask
  let content: PushContent
  let target: PackedTarget
  /// Whose values devices take; nil = nobody has values of their own.
  let recipients: RecipientOrder?
  /// Its receipts are rows, since few were expected as it was enqueued.
  let hasFewDevices: Bool
  var progress: TaskProgress
  /// Devices that left the walk and are not with the sender, by credential.
  var waiting: [Waiting] = []
  /// The credentials of the devices met so far.
  private(set) var met: Set<CredentialID> = []
  /// Nothing is written to a connection from here on, until a flush or renewal has extended the lease.
  var leaseEnds: MonotonicTime
  /// When the lease is renewed without news.
  var renewAt: MonotonicTime
  /// The notification's deadline.
  let deadline: MonotonicTime
  var isCanceled: Bool
  /// The lease was lost: answers that still come mean nothing.
  var isLost = false
  /// Where the task goes once nothing of it is with the sender.
  var leaving: ReleaseTo?
  /// A flush whose commit failed; it is sent again unchanged.
  var unwritten: TaskFlush?
  /// One jitter for the lists of a flush, so that they stay whole.
  var jitter: Double
  /// Grows with each batch handed out; the run with the smallest is served first.
  var served: UInt64 = 0

  init(
    task: LeasedTask, notification: StoredNotification, payload: [UInt8], personal: PersonalPayload?,
    alreadySettled: [DeviceID], claimedAt: MonotonicTime, lease: Duration
  ) {
    self.task = task
    target = notification.target
    recipients = notification.substitutions.map { RecipientOrder(notification.target, $0) }
    hasFewDevices = notification.rowReceipts
    content = PushContent(
      notificationID: notification.id, topic: notification.topic, headers: notification.headers,
      expiresAt: notification.expiresAt, payload: payload, personal: personal)
    progress = TaskProgress(task: task, rowReceipts: notification.rowReceipts, alreadySettled: alreadySettled)
    leaseEnds = claimedAt + lease * 0.9
    renewAt = claimedAt + lease / 3
    deadline = claimedAt + max(task.timeLeft, .zero)
    isCanceled = task.isCanceled
    jitter = Double.random(in: 0..<1)
  }

  /// The lease was extended at a time just before `now`.
  func leaseExtended(at now: MonotonicTime, by lease: Duration) {
    leaseEnds = now + lease * 0.9
    renewAt = now + lease / 3
  }

  var reference: LeaseReference { LeaseReference(task: task.id, epoch: task.epoch) }

  /// Whether there is something to write.
  var hasNews: Bool { progress.newsCount > 0 || unwritten != nil }

  /// Whether it is through: everything walked and settled, or a canceled range with nothing open.
  var isThrough: Bool { progress.isFinished || isCanceled && task.list == nil && progress.openCount == 0 }

  /// Adds a device to those that wait.
  func wait(_ position: Int, _ credential: CredentialID, _ index: Int, of window: DeviceWindow) {
    met.insert(credential)
    let place =
      waiting.firstIndex { $0.credential == credential && $0.devices.count < PushBatch.maximumCount }
      ?? {
        waiting.append(Waiting(credential: credential))
        return waiting.count - 1
      }()
    waiting[place].devices.append(index, of: window)
    waiting[place].positions.append(position)
  }

  /// Takes up to `count` devices of a credential out of those that wait; nil when there is none, or none is allowed.
  func take(_ credential: CredentialID, atMost count: Int) -> Waiting? {
    guard count > 0, let place = waiting.firstIndex(where: { $0.credential == credential }) else { return nil }
    let group = waiting[place]
    if group.devices.count <= count {
      waiting.remove(at: place)
      return group
    }
    var taken = Waiting(credential: credential)
    var rest = Waiting(credential: credential)
    for index in 0..<group.devices.count {
      if index < count {
        taken.devices.append(index, of: group.devices)
        taken.positions.append(group.positions[index])
      } else {
        rest.devices.append(index, of: group.devices)
        rest.positions.append(group.positions[index])
      }
    }
    waiting[place] = rest
    return taken
  }

  /// Settles everything that waits, alike.
  func settleWaiting(where condition: (CredentialID) -> Bool, _ settlement: TaskProgress.Settlement) {
    for group in waiting where condition(group.credential) {
      for position in group.positions { progress.settle(position, settlement) }
    }
    waiting.removeAll { condition($0.credential) }
  }
}

/// A batch that is with the sender. Confined to the loop's actor.
final class OpenBatch {
  let id: UInt64
  let run: TaskRun
  let credential: CredentialID
  let devices: DeviceWindow
  let positions: [Int]
  var answersLeft: Int

  init(id: UInt64, run: TaskRun, _ group: TaskRun.Waiting) {
    self.id = id
    self.run = run
    credential = group.credential
    devices = group.devices
    positions = group.positions
    answersLeft = group.devices.count
  }
}
