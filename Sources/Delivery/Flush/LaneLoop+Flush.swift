import Operations
import PushCore

extension LaneLoop {
  /// News after which a flush does not wait for its time.
  private static let fullFlush = 1000

  /// Writes what was settled: at most one flush per interval, unless much has come together.
  func flushIfDue() async {
    let now = clocks.monotonicTime()
    guard storeMayWork else { return }
    let due = runs.values.filter { $0.hasNews || $0.isThrough }
    let news = due.reduce(0) { $0 + $1.progress.newsCount }
    guard !due.isEmpty, now.since(lastFlush) >= configuration.flushInterval || news >= Self.fullFlush || stopAt != nil
    else { return }
    await flush(due)
  }

  private func flush(_ due: [TaskRun]) async {
    let now = clocks.monotonicTime()
    lastFlush = now
    let flushes = due.map { run in
      if let unwritten = run.unwritten { return unwritten }
      let flush = run.progress.takeFlush(
        ends: run.isThrough, cut: run.isCanceled && !run.progress.walkHasEnded)
      run.jitter = Double.random(in: 0..<1)
      run.unwritten = flush
      return flush
    }
    unwrittenRetirements += retirements
    retirements = []
    do {
      let states = try await store.flush(
        flushes, retirements: unwrittenRetirements, owner: configuration.owner, lease: lease)
      storeWorked()
      tell(.timed(.flush, clocks.monotonicTime().since(now)))
      unwrittenRetirements = []
      for (index, run) in due.enumerated() { written(run, flushes[index], states[index], at: now) }
    } catch  where error.isTransient || due.count == 1 {
      // Without an answer the same flush is sent again; its fence keeps it from being written twice.
      storeFailed(error)
      if !error.isTransient { due.forEach(giveUp) }
    } catch {
      // One of them cannot be written: the others must not wait for it.
      for run in due { await flush([run]) }
    }
  }

  /// A task whose receipts the store can never take: another claim starts from what is written, and parks it in the end.
  private func giveUp(_ run: TaskRun) {
    tell(.unreadable(notification: run.task.notificationID))
    unwrittenRetirements = []
    lose(run)
  }

  private func written(_ run: TaskRun, _ flush: TaskFlush, _ state: LeaseState, at now: MonotonicTime) {
    run.unwritten = nil
    take(state, for: run, at: now)
    if state == .lost { return }
    if flush.count > 0 { tell(.settled(lane: run.task.lane, counts: flush.counts)) }
    if flush.ends { runs[run.task.id] = nil }
  }

  /// Takes over what a flush or renewal said of a lease.
  private func take(_ state: LeaseState, for run: TaskRun, at now: MonotonicTime) {
    switch state {
    case .kept: run.leaseExtended(at: now, by: lease)
    case .canceled:
      run.leaseExtended(at: now, by: lease)
      run.isCanceled = true
    case .lost: lose(run)
    }
  }

  /// Renews leases without news; those a flush renews anyway are left out.
  func renewLeases() async {
    let now = clocks.monotonicTime()
    guard storeMayWork else { return }
    let due = runs.values.filter { $0.renewAt <= now && !$0.hasNews }
    guard !due.isEmpty else { return }
    let states = await ask { () throws(StoreError) in
      try await store.renew(due.map(\.reference), owner: configuration.owner, lease: lease)
    }
    for (run, state) in zip(due, states ?? []) { take(state, for: run, at: now) }
  }

  /// Releases tasks that leave, once nothing of them is with the sender and everything is written.
  func releaseLeaving() async {
    guard storeMayWork else { return }
    for run in runs.values where run.progress.inFlight == 0 && !run.hasNews {
      guard let to = run.leaving, !run.isThrough else { continue }
      let isOurs = await ask { () throws(StoreError) in
        try await store.release(run.reference, to: to, owner: configuration.owner)
      }
      switch isOurs {
      case nil: return
      case false?: lose(run)
      case true?: runs[run.task.id] = nil
      }
    }
  }

  /// The end of a shutdown: tasks with nothing at the sender go back; at the deadline all do. True when none is left.
  func handBack() async -> Bool {
    let isLate = stopAt.map { clocks.monotonicTime() >= $0 } ?? true
    for run in runs.values where run.leaving == nil && !run.isThrough && (run.progress.inFlight == 0 || isLate) {
      run.leaving = .ready(run.task.lane)
    }
    if isLate {
      // What is still with the sender stays unsettled: it is sent again, with the same apns-id.
      for run in runs.values { run.progress.inFlight = 0 }
    }
    await flushIfDue()
    await releaseLeaving()
    return runs.isEmpty || isLate
  }
}
