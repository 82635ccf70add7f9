import Operations
import PushCore

extension LaneLoop {
  /// The most tasks of one claim of held work past its deadline.
  private static let expiredLimit = 100

  /// Leases due work, as much as there is room for.
  func claim() async {
    for lane in lanes {
      while let ask = schedule.ask(lane, open: openTasks(lane), at: clocks.monotonicTime()) {
        let usable = reachable
        guard !usable.isEmpty else {
          schedule.asked(ask, got: 0, at: clocks.monotonicTime())
          break
        }
        let claimedAt = clocks.monotonicTime()
        let request = ClaimRequest(
          lane: lane, owner: configuration.owner, lease: lease, window: ask.window, credentials: usable,
          limit: ask.limit)
        guard let tasks = await self.ask({ () throws(StoreError) in try await store.claim(request) }) else { return }
        let answeredAt = clocks.monotonicTime()
        tell(.timed(.claim, answeredAt.since(claimedAt)))
        schedule.asked(ask, got: tasks.count, at: answeredAt)
        if !tasks.isEmpty { tell(.claimed(lane: lane, tasks: tasks.count)) }
        guard await adopt(tasks, claimedAt: claimedAt) else { return }
      }
    }
    await claimExpired()
  }

  /// Tasks of a lane in work, without those that only wait for a connection.
  func openTasks(_ lane: Lane) -> Int { runs.values.count { $0.task.lane == lane } - waitingTasks(lane) }

  /// Tasks of a lane that only wait for a connection.
  func waitingTasks(_ lane: Lane) -> Int {
    let now = clocks.monotonicTime()
    return runs.values.count { run in
      run.task.lane == lane && run.progress.inFlight == 0 && !run.waiting.isEmpty
        && run.waiting.allSatisfy { isGated($0.credential, at: now) }
    }
  }

  /// Whether nothing is handed out for a credential at the moment, because its connection is away.
  func isGated(_ credential: CredentialID, at now: MonotonicTime) -> Bool { (gates[credential] ?? now) > now }

  /// Credentials whose connection is not known to be away.
  private var reachable: [CredentialID] {
    let now = clocks.monotonicTime()
    return usable.filter { !isGated($0, at: now) }
  }

  /// Held work past its deadline settles as expired; no signature is needed for that.
  private func claimExpired() async {
    let now = clocks.monotonicTime()
    guard lanes.contains(.normal), now >= claimExpiredAt else { return }
    let tasks = await ask { () throws(StoreError) in
      try await store.claimExpired(owner: configuration.owner, lease: lease, limit: Self.expiredLimit)
    }
    guard let tasks else { return }
    // A full answer: there is more.
    claimExpiredAt = tasks.count < Self.expiredLimit ? now + .seconds(5) : now
    _ = await adopt(tasks, claimedAt: now)
  }

  /// Reads what leased tasks need, and what an earlier owner has settled of them. False when the store fails: the rest goes back.
  private func adopt(_ tasks: [LeasedTask], claimedAt: MonotonicTime) async -> Bool {
    guard !tasks.isEmpty else { return true }
    let inOrder = tasks.sorted { ($0.dueAt, $0.id) < ($1.dueAt, $1.id) }
    let ids = inOrder.map(\.notificationID)
    let notifications = await ask { () throws(StoreError) in try await store.notifications(ids) }
    guard let notifications else {
      await giveBack(inOrder[...])
      return false
    }
    for (index, task) in inOrder.enumerated() {
      do {
        try await adopt(task, notifications[task.notificationID], claimedAt: claimedAt)
      } catch  where error.isTransient {
        storeFailed(error)
        await giveBack(inOrder[index...])
        return false
      } catch {
        tell(.unreadable(notification: task.notificationID))
      }
    }
    return true
  }

  private func adopt(
    _ task: LeasedTask, _ notification: StoredNotification?, claimedAt: MonotonicTime
  ) async throws(StoreError) {
    // Not touched where it cannot be read: the claims without progress park it, and an operator sees it.
    guard let notification, let payload = notification.payload else {
      return tell(.unreadable(notification: task.notificationID))
    }
    let personal = notification.substitutions.flatMap { PersonalPayload(payload, $0) }
    guard notification.target.hasValues == (personal != nil) else {
      return tell(.unreadable(notification: task.notificationID))
    }
    let alreadySettled =
      task.epoch > 1 ? try await store.settledDevices(of: task, rowReceipts: notification.rowReceipts) : []
    if let former = runs[task.id] { lose(former) }
    runs[task.id] = TaskRun(
      task: task, notification: notification, payload: payload, personal: personal,
      alreadySettled: alreadySettled, claimedAt: claimedAt, lease: lease)
  }

  /// Hands back what was leased and not begun. Where that fails too, the leases run out by themselves.
  private func giveBack(_ tasks: ArraySlice<LeasedTask>) async {
    for task in tasks {
      let lease = LeaseReference(task: task.id, epoch: task.epoch)
      let answer = await ask { () throws(StoreError) in
        try await store.release(lease, to: .ready(task.lane), owner: configuration.owner)
      }
      if answer == nil { return }
    }
  }

  /// The lease of a run is lost: what still comes of it means nothing.
  func lose(_ run: TaskRun) {
    run.isLost = true
    runs[run.task.id] = nil
    tell(.leaseLost(notification: run.task.notificationID))
  }
}
