import Operations
import PushCore

extension LaneLoop {
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
        do {
          let tasks = try await store.claim(
            ClaimRequest(
              lane: lane, owner: configuration.owner, lease: lease, window: ask.window, credentials: usable,
              limit: ask.limit))
          storeWorked()
          schedule.asked(ask, got: tasks.count, at: clocks.monotonicTime())
          if !tasks.isEmpty { tell(.claimed(lane: lane, tasks: tasks.count)) }
          try await adopt(tasks, claimedAt: claimedAt)
        } catch {
          return storeFailed(error)
        }
      }
    }
    await claimExpired()
  }

  func openTasks(_ lane: Lane) -> Int { runs.values.count { $0.task.lane == lane } }

  /// Credentials whose connection is not known to be away.
  private var reachable: [CredentialID] {
    let now = clocks.monotonicTime()
    return usable.filter { (gates[$0] ?? now) <= now }
  }

  /// Held work past its deadline settles as expired; no signature is needed for that.
  private func claimExpired() async {
    let now = clocks.monotonicTime()
    guard lanes.contains(.normal), now >= claimExpiredAt else { return }
    claimExpiredAt = now + .seconds(5)
    do {
      let tasks = try await store.claimExpired(owner: configuration.owner, lease: lease, limit: 100)
      try await adopt(tasks, claimedAt: now)
    } catch {
      storeFailed(error)
    }
  }

  /// Reads what a leased task needs, and what an earlier owner has settled of it.
  private func adopt(_ tasks: [LeasedTask], claimedAt: MonotonicTime) async throws(StoreError) {
    for task in tasks.sorted(by: { ($0.dueAt, $0.id) < ($1.dueAt, $1.id) }) {
      guard let notification = try await store.notification(task.notificationID), let payload = notification.payload
      else {
        // Not touched: the claims without progress park it, and an operator sees it.
        tell(.unreadable(notification: task.notificationID))
        continue
      }
      let alreadySettled =
        task.epoch > 1 ? try await store.settledDevices(of: task, rowReceipts: notification.rowReceipts) : []
      runs[task.id] = TaskRun(
        task: task, notification: notification, payload: payload, alreadySettled: alreadySettled, claimedAt: claimedAt,
        lease: lease)
    }
  }
}
