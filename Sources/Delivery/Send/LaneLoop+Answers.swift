import Operations
import PushCore

extension LaneLoop {
  /// Texts beyond so many are not kept: a peer that invents them must not fill the store.
  private static let learnedReasons = 1000

  /// What a turn's answers say of one credential.
  private struct Tally {
    var answers = 0
    var accepted = 0
    var refusals = 0
    var failures: [PushReason: Int] = [:]
  }

  /// Settles what was answered since the last turn.
  func apply(_ answers: [[PushAnswer]]) async {
    if answers.isEmpty { return }
    await learnReasons(in: answers)
    noteRefusals(in: answers)
    let now = clocks.monotonicTime()
    var batch: OpenBatch?
    for answer in answers.joined() {
      if batch?.id != answer.batch { batch = batches[answer.batch] }
      if let batch { apply(answer, of: batch, at: now) }
    }
  }

  private func apply(_ answer: PushAnswer, of batch: OpenBatch, at now: MonotonicTime) {
    batch.answersLeft -= 1
    if batch.answersLeft == 0 { batches[batch.id] = nil }
    inFlight -= 1
    inFlightOf[batch.credential, default: 1] -= 1
    prove(batch.credential, by: answer)
    let run = batch.run
    run.progress.inFlight -= 1
    if run.isLost { return }
    let index = Int(answer.index)
    let position = batch.positions[index]
    switch answer.verdict {
    case .accepted:
      run.progress.settle(position, settlement(.accepted, answer))
      if !gates.isEmpty || !troubled.isEmpty { reached(batch.credential) }
    case .rejected(let reason):
      run.progress.settle(position, settlement(.rejected, answer, reason))
    case .gone(let reason, let registeredBefore):
      retire(position, of: run, reason, registeredBefore)
      run.progress.settle(position, settlement(.rejected, answer, reason))
    case .unfit(let reason):
      if fuses[batch.credential]?.allowsRetirement ?? false { retire(position, of: run, reason, nil) }
      run.progress.settle(position, settlement(.rejected, answer, reason))
    case .retry(let reason, let notBefore):
      run.progress.settle(position, retry(run, answer, reason, notBefore: notBefore, at: now))
    case .held(let scope, let reason):
      hold(batch.credential, scope, reason)
      run.wait(position, batch.credential, index, of: batch.devices)
    case .unsent(let failure, let retryAt):
      if retryAt > now || failure.kind != .refused { closeGate(batch.credential, until: retryAt, failure) }
      run.wait(position, batch.credential, index, of: batch.devices)
    }
  }

  /// An answer that does not refuse the credential proves it; one that does takes that back.
  private func prove(_ credential: CredentialID, by answer: PushAnswer) {
    if case .held = answer.verdict {
      proved.remove(credential)
    } else if answer.status != 0 {
      proved.insert(credential)
    }
  }

  private func settlement(_ outcome: Outcome, _ answer: PushAnswer, _ reason: PushReason? = nil)
    -> TaskProgress.Settlement
  {
    TaskProgress.Settlement(
      outcome: outcome, status: Int(answer.status), reason: reason.map(id) ?? .none,
      latencyMilliseconds: answer.latencyMilliseconds, apnsUniqueID: answer.apnsUniqueID)
  }

  private func retry(
    _ run: TaskRun, _ answer: PushAnswer, _ reason: PushReason, notBefore: Duration?, at now: MonotonicTime
  ) -> TaskProgress.Settlement {
    if run.isCanceled { return settlement(.canceled, answer, reason) }
    let decision = RetryPolicy().decide(
      lane: run.task.lane, tries: run.task.tries, notBefore: notBefore, timeLeft: run.deadline.since(now),
      onlyOnce: run.content.headers.expiresImmediately, jitter: run.jitter)
    switch decision {
    case .failed: return settlement(.failed, answer, reason)
    case .expired: return settlement(.expired, answer, reason)
    case .again(let delay):
      var settlement = settlement(.pending, answer, reason)
      settlement.next = .init(delay: delay, isCounted: true, isHeld: false)
      return settlement
    }
  }

  private func retire(
    _ position: Int, of run: TaskRun, _ reason: PushReason, _ before: UnixMilliseconds?
  ) {
    let device = run.progress.device(at: position)
    // Without a time from APNs: only if the device has not registered since the walk read it.
    let registeredBefore = before ?? UnixMilliseconds(device.registeredAt.value &+ 1)
    retirements.append(Retirement(device: device.id, registeredBefore: registeredBefore, reason: id(reason)))
  }

  /// Counts, before they are settled, refusals that may be a setting of ours, and failures that an operator should know of.
  private func noteRefusals(in answers: [[PushAnswer]]) {
    var tallies: [CredentialID: Tally] = [:]
    var latencies = DurationCounts()
    var reasons: [PushReason: Int] = [:]
    var last: (batch: UInt64, credential: CredentialID)?
    for answer in answers.joined() {
      if answer.status != 0 {
        latencies.add(.milliseconds(answer.latencyMilliseconds))
        if answer.status != 200, let reason = answer.verdict.reason { reasons[reason, default: 0] += 1 }
      }
      if last?.batch != answer.batch { last = batches[answer.batch].map { (answer.batch, $0.credential) } }
      guard let last else { continue }
      tally(answer, in: &tallies[last.credential, default: Tally()])
    }
    let refusals = Dictionary(reasons.map { (sender.text(of: $0.key), $0.value) }) { $0 + $1 }
    if !latencies.isEmpty { tell(.answered(latencies: latencies, refusals: refusals)) }
    for (credential, tally) in tallies {
      let blown = fuses[credential, default: RetirementFuse()].note(
        answers: tally.answers, accepted: tally.accepted, refusals: tally.refusals, at: clocks.monotonicTime())
      if blown, let known = credentials[credential] { tell(.retirementStopped(known)) }
      for (reason, devices) in tally.failures { noteFailure(credential, reason, devices) }
    }
  }

  private func tally(_ answer: PushAnswer, in tally: inout Tally) {
    if answer.status != 0 { tally.answers += 1 }
    switch answer.verdict {
    case .unfit: tally.refusals += 1
    case .retry(let reason, _): tally.failures[reason, default: 0] += 1
    case .accepted: tally.accepted += 1
    case .unsent(let failure, _) where failure.kind == .refused:
      tally.failures[.unknown("Refused"), default: 0] += 1
    case .rejected, .gone, .held, .unsent: break
    }
  }

  /// Says why pushes are tried again; a reason that stays is said every ten seconds.
  private func noteFailure(_ credential: CredentialID, _ reason: PushReason, _ devices: Int) {
    let now = clocks.monotonicTime()
    let text = sender.text(of: reason)
    let key = "\(credential.rawValue) \(text)"
    if let last = failuresSaid[key], last.again > now {
      failuresSaid[key] = (last.again, last.unsaid + devices)
      return
    }
    guard let known = credentials[credential] else { return }
    tell(.failing(known, reason: text, devices: devices + (failuresSaid[key]?.unsaid ?? 0)))
    if failuresSaid.count >= Self.learnedReasons { failuresSaid = [:] }
    failuresSaid[key] = (now + .seconds(10), 0)
  }

  private func closeGate(_ credential: CredentialID, until: MonotonicTime, _ failure: SendFailure) {
    if failure.kind != .notSent, gates[credential] == nil, let known = credentials[credential] {
      tell(.unreachable(known, failure))
    }
    if failure.kind != .notSent, !troubled.contains(credential) {
      unwrittenTroubles.updateValue("\(failure)", forKey: credential)
    }
    gates[credential] = max(gates[credential] ?? until, until)
  }

  private func reached(_ credential: CredentialID) {
    if gates.removeValue(forKey: credential) != nil, let known = credentials[credential] { tell(.reachable(known)) }
    if troubled.contains(credential) { unwrittenTroubles.updateValue(nil, forKey: credential) }
  }

  /// Reason texts that no table has get a number from the store before they are written.
  private func learnReasons(in answers: [[PushAnswer]]) async {
    for answer in answers.joined() where answer.status != 200 {
      guard case .unknown(let text)? = answer.verdict.reason, reasonIDs[text] == nil,
        reasonIDs.count < Self.learnedReasons
      else { continue }
      let id = await ask { () throws(StoreError) in try await store.reasonID(for: text) }
      // The receipts are worth more than the texts: without an answer the status alone stays.
      guard let id else { return }
      reasonIDs[text] = id
    }
  }

  private func id(_ reason: PushReason) -> ReasonID {
    switch reason {
    case .known(let id): id
    case .unknown(let text): reasonIDs[text] ?? .none
    }
  }
}

extension Verdict {
  /// The reason it carries.
  var reason: PushReason? {
    switch self {
    case .accepted, .unsent: nil
    case .rejected(let reason), .gone(let reason, _), .unfit(let reason), .retry(let reason, _), .held(_, let reason):
      reason
    }
  }
}
