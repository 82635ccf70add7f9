import Operations
import PushCore

/// Serves lanes: claim → recover → walk → send → flush. One loop for lane 0, one for lanes 1 and 2, with everything of their own.
///
/// Answers come through the inbox; nothing else touches the loop's state. A push may be sent twice only where a lease was lost or the
/// process died between a request and its flush.
actor LaneLoop {
  let lanes: [Lane]
  let store: any Store
  let sender: any PushSender
  let clocks: any Clocks
  let configuration: WorkerConfiguration
  let tell: @Sendable (WorkerEvent) -> Void
  nonisolated let inbox = Inbox()

  var runs: [TaskID: TaskRun] = [:]
  var batches: [UInt64: OpenBatch] = [:]
  var nextBatch: UInt64
  var inFlight = 0
  var schedule: ClaimSchedule
  var credentials: [CredentialID: Credential] = [:]
  /// Credentials nothing is sent for: held in the store, or refused just now.
  var held: Set<CredentialID> = []
  /// Credentials of which APNs has answered a push without refusing the credential. Until then, and again after each hold, one push is
  /// sent alone: a key that is wrong costs one request, not all that waits.
  var proved: Set<CredentialID> = []
  /// Devices with the sender, by credential.
  var inFlightOf: [CredentialID: Int] = [:]
  /// Credentials whose hold is not written yet, with the reason.
  var unwrittenHolds: [CredentialID: String] = [:]
  /// Credentials of which the store says that nothing can be sent for them.
  var troubled: Set<CredentialID> = []
  /// What is to be said of credentials there; a nil text: it can be sent again.
  var unwrittenTroubles: [CredentialID: String?] = [:]
  /// No batch of the credential is handed out before this.
  var gates: [CredentialID: MonotonicTime] = [:]
  var fuses: [CredentialID: RetirementFuse] = [:]
  /// When a failure of a credential is said again, and how many devices it has met since it was.
  var failuresSaid: [String: (again: MonotonicTime, unsaid: Int)] = [:]
  var retirements: [Retirement] = []
  /// Retirements of flushes whose commit failed.
  var unwrittenRetirements: [Retirement] = []
  var reasonIDs: [String: ReasonID] = [:]
  var lastFlush = MonotonicTime(nanoseconds: 0)
  /// Set while the store fails: nothing new is claimed or sent until it works again.
  var storeRetryAt: MonotonicTime?
  var storeFailures = 0
  var claimExpiredAt = MonotonicTime(nanoseconds: 0)
  /// Set by a shutdown: open streams are waited for until then.
  var stopAt: MonotonicTime?

  /// - Parameter batchBit: 0 or 1, the lowest bit of this loop's batch ids: it tells two loops' answers apart.
  init(
    lanes: [Lane], batchBit: UInt64, store: any Store, sender: any PushSender, clocks: any Clocks,
    configuration: WorkerConfiguration, tell: @escaping @Sendable (WorkerEvent) -> Void
  ) {
    self.lanes = lanes
    self.store = store
    self.sender = sender
    self.clocks = clocks
    self.configuration = configuration
    self.tell = tell
    nextBatch = batchBit
    schedule = ClaimSchedule(lanes: lanes, pollInterval: configuration.pollInterval)
  }

  var lease: Duration { lanes.contains(.urgent) ? configuration.urgentLease : configuration.lease }

  /// Works until the order to stop, and until everything is handed back.
  func run() async {
    while true {
      let news = inbox.take()
      stopAt = news.stopAt
      for lane in news.lanes { schedule.wake(lane) }
      await apply(news.answers)
      await writeHolds()
      await writeTroubles()
      await flushIfDue()
      await releaseLeaving()
      await renewLeases()
      if stopAt != nil {
        if await handBack() { return }
      } else if storeMayWork {
        await claim()
        await advance()
      }
      await inbox.wait(until: nextTurn(), clocks: clocks)
    }
  }

  /// The tasks in work: their leases are alive as long as this process is.
  var live: [TaskID] { Array(runs.keys) }

  /// Takes over what the store says of the credentials.
  func update(_ current: [Credential]) {
    sender.learn(current)
    credentials = Dictionary(uniqueKeysWithValues: current.map { ($0.id, $0) })
    troubled = Set(current.filter { $0.trouble != nil }.map(\.id))
    let nowHeld = Set(current.filter { $0.heldSince != nil }.map(\.id)).union(unwrittenHolds.keys)
    if nowHeld != held {
      held = nowHeld
      proved.subtract(nowHeld)
      inbox.wake()
    }
  }

  /// Credentials this worker may send for now.
  var usable: [CredentialID] {
    credentials.values.filter { sender.canSign($0) && !held.contains($0.id) }.map(\.id)
  }

  private func nextTurn() -> MonotonicTime {
    let now = clocks.monotonicTime()
    var next = now + .seconds(1)
    if let storeRetryAt, storeRetryAt > now { return min(next, storeRetryAt) }
    if let stopAt { next = min(next, stopAt) }
    if stopAt == nil {
      for lane in lanes { next = min(next, schedule.nextAsk(lane, open: openTasks(lane))) }
      for gate in gates.values where gate > now { next = min(next, gate) }
    }
    for run in runs.values {
      next = min(next, run.hasNews || run.isThrough ? lastFlush + configuration.flushInterval : run.renewAt)
      if run.deadline > now { next = min(next, run.deadline) }
    }
    return next
  }

  /// Whether the store did not fail lately, or long enough ago to be tried again.
  var storeMayWork: Bool { storeRetryAt.map { clocks.monotonicTime() >= $0 } ?? true }

  /// The store failed: nothing is lost, everything waits.
  func storeFailed(_ error: StoreError) {
    if storeRetryAt == nil { tell(.storeFailed(error)) }
    storeFailures += 1
    let wait = min(50 << min(storeFailures, 6), 2000)
    storeRetryAt = clocks.monotonicTime() + .milliseconds(wait)
  }

  /// Asks the store; a failure is noted, and nil says that there is no answer.
  func ask<Value: Sendable>(_ body: () async throws(StoreError) -> Value) async -> Value? {
    do {
      let value = try await body()
      storeWorked()
      return value
    } catch {
      storeFailed(error)
      return nil
    }
  }

  /// The store answered again.
  func storeWorked() {
    if storeRetryAt != nil { tell(.storeRecovered) }
    storeRetryAt = nil
    storeFailures = 0
  }
}
