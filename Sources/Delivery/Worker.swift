import Operations
import PushCore

/// The worker: two lane loops and the periodic care of the queue.
///
/// Any number of workers may run on one store. Started once by the composition root; `run()` ends after ``stop(grace:)``.
public final class Worker: Sendable {
  /// Turns of a second between two looks for what is old; the most steps of one.
  private static let retentionInterval = 10
  private static let retentionSteps = 10

  private let store: any Store
  private let sender: any PushSender
  private let clocks: any Clocks
  private let configuration: WorkerConfiguration
  private let tell: @Sendable (WorkerEvent) -> Void
  private let urgent: LaneLoop
  private let other: LaneLoop
  private let careFails = Lock(false)
  private let lastHeld = Lock<Set<CredentialID>>([])

  /// A worker on a store and a sender.
  ///
  /// - Parameter events: called from any thread; returns at once.
  public init(
    store: any Store, sender: any PushSender, clocks: any Clocks, configuration: WorkerConfiguration,
    events: @escaping @Sendable (WorkerEvent) -> Void
  ) {
    self.store = store
    self.sender = sender
    self.clocks = clocks
    self.configuration = configuration
    tell = events
    urgent = LaneLoop(
      lanes: [.urgent], batchBit: 0, store: store, sender: sender, clocks: clocks, configuration: configuration,
      tell: events)
    other = LaneLoop(
      lanes: [.normal, .bulk], batchBit: 1, store: store, sender: sender, clocks: clocks, configuration: configuration,
      tell: events)
    let loops = (urgent: urgent.inbox, other: other.inbox)
    sender.onAnswers { answers in Self.route(answers, loops) }
  }

  /// Works until ``stop(grace:)``.
  public func run() async {
    await store.onNewWork { [urgent, other] lane in
      (lane == .urgent ? urgent : other).inbox.wake(lane)
    }
    await lookAround(everything: true)
    // What a worker that died has left is there to be claimed at once.
    await attempt { () throws(StoreError) in try await self.reap() }
    await withTaskGroup { group in
      group.addTask { await self.care() }
      await withTaskGroup { loops in
        loops.addTask { await self.urgent.run() }
        loops.addTask { await self.other.run() }
      }
      group.cancelAll()
    }
  }

  /// Stops claiming and sending, waits up to `grace` for open streams, hands the rest back uncounted.
  public func stop(grace: Duration) {
    let deadline = clocks.monotonicTime() + grace
    urgent.inbox.stop(at: deadline)
    other.inbox.stop(at: deadline)
    sender.withdraw()
  }

  /// Looks at credentials again at once: after a reload of keys, a pause or a resume.
  public func credentialsChanged() async {
    await lookAround(everything: true)
  }

  private static func route(_ answers: [PushAnswer], _ loops: (urgent: Inbox, other: Inbox)) {
    guard let first = answers.first else { return }
    let bit = first.batch & 1
    if answers.allSatisfy({ $0.batch & 1 == bit }) {
      (bit == 0 ? loops.urgent : loops.other).deliver(answers)
    } else {
      loops.urgent.deliver(answers.filter { $0.batch & 1 == 0 })
      loops.other.deliver(answers.filter { $0.batch & 1 == 1 })
    }
  }

  /// The periodic statements of the protocol; each is idempotent, and every worker runs them.
  private func care() async {
    var turn = 0
    while !Task.isCancelled {
      await clocks.sleep(until: clocks.monotonicTime() + .seconds(1))
      if Task.isCancelled { return }
      turn += 1
      // A sweep holds what nobody has signed for lately: this worker says first that it can.
      await lookAround(everything: turn % 5 == 0)
      await attempt { () throws(StoreError) in
        try await self.reap()
        if turn % 5 == 0 { try await self.store.sweep() }
        if turn % Self.retentionInterval == 0 { try await self.removeOld() }
      }
    }
  }

  /// Takes back the work of workers that are dead or lost their leases.
  private func reap() async throws(StoreError) {
    let live = await urgent.live + other.live
    for task in try await store.reap(except: live) where task.isParked {
      tell(.parked(notification: task.notificationID))
    }
  }

  /// Erases and deletes what is old, a bounded part of it in a turn.
  private func removeOld() async throws(StoreError) {
    for _ in 0..<Self.retentionSteps {
      let isMoreLeft = try await store.removeOld(
        payloadsAfter: configuration.payloadRetention, receiptsAfter: configuration.receiptRetention)
      if !isMoreLeft || Task.isCancelled { return }
    }
  }

  /// Reads the credentials and says which ones this worker can sign for.
  private func lookAround(everything: Bool) async {
    await attempt { () throws(StoreError) in
      let credentials = try await self.store.credentials()
      self.sender.learn(credentials)
      self.noteResumed(credentials)
      if everything { try await self.store.signerSeen(credentials.filter(self.sender.canSign).map(\.id)) }
      await self.urgent.update(credentials)
      await self.other.update(credentials)
    }
  }

  /// Tells what was held at the last look and is served now.
  private func noteResumed(_ credentials: [Credential]) {
    let held = Set(credentials.filter { $0.heldSince != nil }.map(\.id))
    let former = lastHeld.withLock { last in
      let former = last
      last = held
      return former
    }
    let resumed = credentials.filter { former.contains($0.id) && !held.contains($0.id) }
    if !resumed.isEmpty { tell(.resumed(resumed)) }
  }

  /// Runs care that is simply done again later when the store fails; a failure that lasts is told once.
  private func attempt(_ body: () async throws(StoreError) -> Void) async {
    do {
      try await body()
      careFails.withLock { $0 = false }
    } catch {
      let isNews = careFails.withLock { fails in
        defer { fails = true }
        return !fails
      }
      if isNews { tell(.storeFailed(error)) }
    }
  }
}
