import Operations
import PushCore

/// What a worker tells the outside beside its receipts. The composition root makes log lines and metrics of it.
public enum WorkerEvent: Sendable, Equatable {
  /// The store was called: a claim or a flush.
  case timed(TimedMetric, Duration)
  /// APNs answered: how long that took, and why it did not accept, by the text of the reason.
  case answered(latencies: DurationCounts, refusals: [String: Int])
  /// Work was leased.
  case claimed(lane: Lane, tasks: Int)
  /// Receipts were written.
  case settled(lane: Lane, counts: Counts)
  /// A credential was refused: these are held now.
  case held([Credential], reason: String)
  /// These were held, and are served again.
  case resumed([Credential])
  /// APNs or the network failed pushes for this reason, which will be tried again; said every ten seconds at most.
  case failing(Credential, reason: String, devices: Int)
  /// Nothing can be sent for a credential until `retryAt`; said once per change.
  case unreachable(Credential, SendFailure)
  /// Sending for a credential works again.
  case reachable(Credential)
  /// Too many devices of a credential were called bad: none is retired for that until it is usual again.
  case retirementStopped(Credential)
  /// A task killed its worker repeatedly and was parked.
  case parked(notification: NotificationID)
  /// A lease was lost: another worker has the task.
  case leaseLost(notification: NotificationID)
  /// The store failed; the worker goes on when it works again.
  case storeFailed(StoreError)
  /// The store works again.
  case storeRecovered
  /// A notification cannot be read: it is left to be parked.
  case unreadable(notification: NotificationID)
}

/// The numbers a worker runs by; the defaults are those of the queue's protocol.
public struct WorkerConfiguration: Sendable {
  /// This process start: random, positive, never used before.
  public var owner: Int64
  /// How long a lease of lanes 1-2 holds without renewal.
  public var lease = Duration.seconds(15)
  /// How long a lease of lane 0 holds without renewal.
  public var urgentLease = Duration.seconds(3)
  /// The most devices with the sender, per loop (lane 0, lanes 1-2): two batches.
  public var capacity = 2000
  /// Whether the first push for a credential, also after each hold, is sent alone.
  public var probesCredentials = true
  /// The time between two flushes.
  public var flushInterval = Duration.milliseconds(20)
  /// Devices of one step of a walk, and so of one batch.
  public var window = 1000
  /// How often due work is looked for without a wake-up.
  public var pollInterval = Duration.milliseconds(250)
  /// How long payloads are kept after the final state.
  public var payloadRetention = Duration.zero
  /// How long receipts are kept.
  public var receiptRetention = Duration.seconds(30 * 86_400)

  /// The defaults, for an owner.
  public init(owner: Int64) { self.owner = owner }
}
