import Operations

/// Registry, queue and receipts: what a store must do. Its protocol, and why it loses nothing, is drawn in PushCore's documentation.
///
/// Every call is one transaction: all of it is durable when the call returns, or none of it happened when it throws. Only what can touch any
/// number of tasks (hold, resume, sweep) goes in several steps, each of them right by itself. Calls may come from any task.
public protocol Store: ProviderTokenStore {
  // MARK: Registry

  /// Makes sure that these apps and credentials exist and carry these ids; returns all credentials of these topics.
  func bind(_ apps: [AppBinding]) async throws(StoreError) -> [Credential]
  /// All credentials.
  func credentials() async throws(StoreError) -> [Credential]
  /// Registers or refreshes devices, in order; an unknown (topic, environment) of a known app gets its credential, an unknown topic throws
  /// ``StoreError/Code/unknownTopic``. A call of 1000 can make urgent calls wait for 20 ms or more: imports give 100 at a time.
  func register(_ registrations: [DeviceRegistration]) async throws(StoreError) -> [RegistrationResult]
  /// Removes a device and its subscriptions; false when there was none. Nil environment = in every environment.
  func removeDevice(
    topic: String, environment: Environment?, token: DeviceToken
  ) async throws(StoreError) -> Bool
  /// Registered devices by ascending id behind `after`, at most `limit`.
  func devices(_ query: DeviceQuery, after: DeviceID, limit: Int) async throws(StoreError) -> [Device]
  /// Subscribes or unsubscribes one device; false when the device is not registered.
  func setSubscription(
    topic: String, environment: Environment?, token: DeviceToken, interest: String, subscribed: Bool
  ) async throws(StoreError) -> Bool

  // MARK: Intake

  /// Stores a notification with its tasks, durably. Calls that wait together share one commit.
  func publish(_ publication: Publication) async throws(StoreError) -> PublishResult
  /// Calls `handler`, which returns at once, when work for a lane may have come, from this process or another. A hint: nothing is lost
  /// without it, and a task that becomes due later gives none.
  func onNewWork(_ handler: @escaping @Sendable (Lane) -> Void) async

  // MARK: Worker

  /// Leases due tasks, unordered; those of held credentials are left out. From an owner's first claim until the store is closed or its
  /// process ends, other processes can see that the owner lives.
  func claim(_ request: ClaimRequest) async throws(StoreError) -> [LeasedTask]
  /// Leases held tasks past their deadline: they settle as expired, which needs no signature.
  func claimExpired(owner: Int64, lease: Duration, limit: Int) async throws(StoreError) -> [LeasedTask]
  /// Frees tasks whose lease ran out, and those of owners that are seen to be dead, which may take two calls a second apart; parks those that
  /// were claimed five times without progress. An owner that cannot be seen is left to its leases.
  ///
  /// - Parameter live: tasks that the calling worker still works on: a late renewal of them is no death.
  func reap(except live: [TaskID]) async throws(StoreError) -> [ReapedTask]
  /// The notifications behind tasks; those that are gone or cannot be read are left out.
  func notifications(_ ids: [NotificationID]) async throws(StoreError) -> [NotificationID: StoredNotification]
  /// Devices behind the cursor that an earlier owner of the task has settled already.
  func settledDevices(of task: LeasedTask, rowReceipts: Bool) async throws(StoreError) -> [DeviceID]
  /// The devices that reads ask for, one window per read, in order; what many tasks need comes in one call.
  func read(_ reads: [DeviceRead]) async throws(StoreError) -> [DeviceWindow]
  /// Whose values devices take, as entries of the substitutions of their notifications, for each read in the order of its devices; nil:
  /// nobody names the device any more.
  func entries(_ reads: [RecipientRead]) async throws(StoreError) -> [[Int?]]
  /// Writes the news of several tasks and retires devices in one transaction; one state per task, in order. The lists of a canceled
  /// notification are not made: their devices are counted as canceled.
  func flush(
    _ flushes: [TaskFlush], retirements: [Retirement], owner: Int64, lease: Duration
  ) async throws(StoreError) -> [LeaseState]
  /// Renews leases; one state per task, in order.
  func renew(
    _ leases: [LeaseReference], owner: Int64, lease: Duration
  ) async throws(StoreError) -> [LeaseState]
  /// Gives a task back with nothing unsettled; the claim is not counted. False when the lease was lost.
  func release(_ lease: LeaseReference, to: ReleaseTo, owner: Int64) async throws(StoreError) -> Bool
  /// Gives a range task back as several ranges of a lane; nothing of it may be unsettled. False when the lease was lost.
  func split(
    _ lease: LeaseReference, into ranges: [(lo: DeviceID, hi: DeviceID)], lane: Lane, owner: Int64
  ) async throws(StoreError) -> Bool
  /// The number of a reason text that is in no table; the same text always has the same number.
  func reasonID(for text: String) async throws(StoreError) -> ReasonID

  // MARK: Pause and cancel

  /// Holds credentials and sets their due tasks aside.
  func hold(_ credentials: [CredentialID], reason: String) async throws(StoreError)
  /// Resumes credentials and their tasks.
  func resume(_ credentials: [CredentialID]) async throws(StoreError)
  /// Says that this worker can sign for these credentials; frees those held as `NoSigner`.
  func signerSeen(_ credentials: [CredentialID]) async throws(StoreError)
  /// Notes for people why nothing can be sent for credentials at the moment; nil: it can again.
  func note(trouble: String?, of credentials: [CredentialID]) async throws(StoreError)
  /// The periodic care of a worker: sets due tasks of held credentials aside and takes back those of resumed ones, ends parked work past its
  /// deadline, holds what nobody signs for.
  func sweep() async throws(StoreError)
  /// Cancels what is not handed to a connection yet; nil when there is no such notification, false when it is final already.
  func cancel(_ id: NotificationID) async throws(StoreError) -> Bool?
  /// Makes parked tasks of a notification ready again; returns how many.
  func unpark(_ id: NotificationID) async throws(StoreError) -> Int

  // MARK: Reading back

  /// State and sums; nil when there is no such notification.
  func status(_ id: NotificationID) async throws(StoreError) -> NotificationStatus?
  /// The attempts of each device, by ascending id behind `after`; pages of about `limit` devices.
  func receipts(
    _ id: NotificationID, outcome: Outcome?, attempts: AttemptChoice, after: DeviceID, limit: Int
  ) async throws(StoreError) -> ReceiptPage

  // MARK: Care

  /// Erases payloads and deletes receipts older than the retention, in small steps; true while more is left.
  func removeOld(payloadsAfter: Duration, receiptsAfter: Duration) async throws(StoreError) -> Bool
  /// Closes it; later calls throw ``StoreError/Code/unavailable``.
  func close() async
}

extension Store {
  /// The notification of an id; nil when it is gone or cannot be read.
  public func notification(_ id: NotificationID) async throws(StoreError) -> StoredNotification? {
    try await notifications([id])[id]
  }
}

extension Store {
  /// The last attempt of each device, by ascending id behind `after`; pages of about `limit`.
  public func receipts(
    _ id: NotificationID, outcome: Outcome?, after: DeviceID, limit: Int
  ) async throws(StoreError) -> ReceiptPage {
    try await receipts(id, outcome: outcome, attempts: .last, after: after, limit: limit)
  }
}
