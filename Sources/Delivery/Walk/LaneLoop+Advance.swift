import Operations
import PushCore

extension LaneLoop {
  /// Devices of an urgent notification that stay in lane 0; the rest goes to lane 1.
  private static let urgentDevices = 1000

  /// Devices to be expected of a notification whose receipts are rows: such an audience is small.
  private static let fewDevices = 10

  /// Moves each task on, the least served of the first lane first, while there is room. What they need of the registry is read together.
  func advance() async {
    while true {
      var steps: [(run: TaskRun, step: WalkStep)] = []
      var expected = inFlight
      let inOrder = runs.values.sorted { ($0.task.lane, $0.served, $0.task.id) < ($1.task.lane, $1.served, $1.task.id) }
      for run in inOrder where !run.isLost && run.leaving == nil && advance(run, expected: max(expected, inFlight)) {
        steps.append((run, step(of: run)))
        expected += expectedDevices(run)
      }
      let reads = steps.flatMap(\.step.reads)
      guard !steps.isEmpty, let windows = await ask({ () throws(StoreError) in try await store.read(reads) }) else {
        return
      }
      var rest = windows[...]
      var results: [(run: TaskRun, result: WalkStep.Result)] = []
      for (run, step) in steps {
        results.append((run, step.result(Array(rest.prefix(step.reads.count)))))
        rest = rest.dropFirst(step.reads.count)
      }
      guard await chooseEntries(&results) else { return }
      for (run, result) in results { take(result, into: run) }
    }
  }

  /// Asks whose values the devices of these steps take, where recipients have values of their own. First tries, retries and what another
  /// worker left are all asked alike, as they are about to be sent. False when the store fails: the steps are made again.
  private func chooseEntries(_ results: inout [(run: TaskRun, result: WalkStep.Result)]) async -> Bool {
    let personal = results.indices.filter { results[$0].run.recipients != nil }
    let reads = personal.compactMap { index in
      results[index].run.recipients.map { RecipientRead(results[index].result.devices.ids, $0) }
    }
    guard !reads.isEmpty else { return true }
    let entries = await ask { () throws(StoreError) in try await store.entries(reads) }
    guard let entries else { return false }
    for (index, entries) in zip(personal, entries) { results[index].result.choose(entries) }
    return true
  }

  /// Does what can be done for a task without the registry; true when it wants its next devices, with so many expected to be out already.
  private func advance(_ run: TaskRun, expected: Int) -> Bool {
    let now = clocks.monotonicTime()
    if run.isCanceled { return settleRest(run, as: .canceled) }
    if now >= run.deadline { return settleRest(run, as: .expired) }
    guard now < run.leaseEnds else { return false }
    if moveHeldAway(run) { return false }
    moveUnreachableAway(run, at: now)
    hand(run, at: now)
    if leavesLane(run) { return false }
    return run.waiting.isEmpty && !run.progress.walkHasEnded
      && expected + expectedDevices(run) <= configuration.capacity
  }

  /// The most devices that the next step of a task probably brings.
  private func expectedDevices(_ run: TaskRun) -> Int {
    let known = run.task.deviceCount > 0 ? run.task.deviceCount : run.hasFewDevices ? Self.fewDevices : .max
    return min(known, configuration.window)
  }

  private func step(of run: TaskRun) -> WalkStep {
    WalkStep(
      of: run.task, target: run.target, credentials: credentials(of: run), after: run.progress.walkedThrough,
      limit: configuration.window)
  }

  private func credentials(of run: TaskRun) -> [CredentialID] {
    if let only = run.task.credentialID { return [only] }
    return credentials.values.filter { $0.appID == run.task.appID }.map(\.id)
  }

  /// Devices and skipped ones enter the progress, both ascending.
  private func take(_ step: WalkStep.Result, into run: TaskRun) {
    var skipped = step.skipped[...]
    func settleSkipped(below id: DeviceID) {
      while let (device, reason) = skipped.first, device <= id {
        skipped.removeFirst()
        let none = CredentialID(0)
        if let position = run.progress.open(id: device, credential: none, registeredAt: UnixMilliseconds(0)) {
          run.progress.settle(position, .init(outcome: .skipped, reason: reason))
        }
      }
    }
    for index in 0..<step.devices.count {
      let id = step.devices.ids[index]
      settleSkipped(below: id)
      let credential = step.devices.credentials[index]
      if let position = run.progress.open(
        id: id, credential: credential, registeredAt: step.devices.registeredAt[index])
      {
        run.wait(position, credential, index, of: step.devices)
      }
    }
    settleSkipped(below: step.through)
    run.progress.walked(through: step.through, atEnd: step.isAtEnd)
  }

  /// Hands waiting devices to the sender, while there is room and the way is open.
  private func hand(_ run: TaskRun, at now: MonotonicTime) {
    for credential in Set(run.waiting.map(\.credential)) {
      guard !isGated(credential, at: now), !held.contains(credential) else { continue }
      while inFlight < configuration.capacity, let group = run.take(credential, atMost: allowance(credential)) {
        hand(group, of: run)
      }
    }
  }

  /// The most devices that may be handed out for a credential now: one alone until APNs has answered for it.
  private func allowance(_ credential: CredentialID) -> Int {
    if proved.contains(credential) || !configuration.probesCredentials { return PushBatch.maximumCount }
    return inFlightOf[credential, default: 0] == 0 ? 1 : 0
  }

  private func hand(_ group: TaskRun.Waiting, of run: TaskRun) {
    nextBatch += 2
    let batch = PushBatch(
      id: nextBatch, credential: group.credential, lane: run.task.lane, content: run.content, devices: group.devices,
      notAfter: min(run.leaseEnds, run.deadline))
    batches[batch.id] = OpenBatch(id: batch.id, run: run, group)
    run.progress.inFlight += group.devices.count
    inFlight += group.devices.count
    inFlightOf[group.credential, default: 0] += group.devices.count
    run.served += UInt64(group.devices.count)
    sender.send(batch)
  }

  /// A task whose every credential is held goes aside; of a mixed one, the held devices leave as lists. True when the task goes.
  private func moveHeldAway(_ run: TaskRun) -> Bool {
    let own = credentials(of: run)
    if !own.isEmpty, own.allSatisfy(held.contains) {
      // What is only left to be answered is answered here.
      if !run.progress.walkHasEnded || !run.waiting.isEmpty { run.leaving = .held }
      return true
    }
    for isHeld in [true, false] {
      run.settleWaiting(
        where: { credential in
          isHeld
            ? held.contains(credential)
            : !held.contains(credential) && !(credentials[credential].map(sender.canSign) ?? false)
        },
        .init(outcome: .pending, reason: .held, next: .init(delay: .zero, isCounted: false, isHeld: isHeld)))
    }
    return false
  }

  /// Devices whose connection is away leave as a list of their own where they would keep others waiting: devices of another environment in
  /// the same task, or other tasks. Else everything waits as it is, and no row is touched.
  private func moveUnreachableAway(_ run: TaskRun, at now: MonotonicTime) {
    guard run.task.credentialID == nil, run.waiting.contains(where: { isGated($0.credential, at: now) }) else { return }
    let isMixed = run.met.contains { !isGated($0, at: now) && !held.contains($0) }
    guard isMixed || waitingTasks(run.task.lane) > ClaimSchedule.openLimit(run.task.lane) else { return }
    for group in run.waiting {
      guard let gate = gates[group.credential], gate > now else { continue }
      run.settleWaiting(
        where: { $0 == group.credential },
        .init(
          outcome: .pending, reason: .unreachable, next: .init(delay: gate.since(now), isCounted: false, isHeld: false))
      )
    }
  }

  /// A large urgent audience goes on in lane 1, so that it does not stand before other approvals.
  private func leavesLane(_ run: TaskRun) -> Bool {
    guard run.task.lane == .urgent, run.task.list == nil, !run.progress.walkHasEnded, run.waiting.isEmpty,
      run.served >= Self.urgentDevices
    else { return false }
    run.leaving = .ready(.normal)
    return true
  }

  /// Ends a canceled or expired task: what waits, and what a list or an expired range still holds, gets that outcome. True when the rest
  /// is to be read.
  private func settleRest(_ run: TaskRun, as outcome: Outcome) -> Bool {
    run.settleWaiting(where: { _ in true }, .init(outcome: outcome))
    if run.progress.walkHasEnded || outcome == .canceled && run.task.list == nil { return false }
    return run.progress.newsCount < configuration.capacity  // first these receipts are written
  }
}
