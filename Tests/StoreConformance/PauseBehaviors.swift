import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let pauses = [
    StoreBehavior("Held work is not claimed, and comes back with its tries and claims as they were", holding),
    StoreBehavior("Holding one environment leaves the other at work", holdingOneEnvironment),
    StoreBehavior("A credential's trouble keeps its beginning until it is over, and holds nothing", trouble),
    StoreBehavior("A publish to a held app is taken and waits", publishingWhileHeld),
    StoreBehavior("A list of held devices waits for its credential alone", heldLists),
    StoreBehavior("A task released as held comes back with the resume", releasedAsHeld),
    StoreBehavior("What nobody signs for is held, and freed by the first who can", noSigner),
    StoreBehavior("Held work past its deadline is handed out to be settled as expired", heldExpiry),
    StoreBehavior("Parked work past its deadline ends as expired", parkedExpiry),
    StoreBehavior("More held tasks than one step holds all come back", manyHeldTasks),
  ]

  static let cancellation = [
    StoreBehavior("Canceling before any claim ends the notification at once", cancelUnclaimed),
    StoreBehavior("Canceling in the middle stops at the next flush, and the sums add up", cancelLeased),
    StoreBehavior("A retry made at the moment of canceling is canceled", cancelMeetsRetry),
    StoreBehavior("A leased task of a canceled notification that is claimed again says so", canceledClaims),
    StoreBehavior("What is final cannot be canceled, what does not exist neither", cancelFinal),
  ]
}

private func holding(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0]
  let devices = try await fixture.register(0..<2, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]))
  let task = try await fixture.claimOne()
  try await fixture.flush(
    .news(
      of: task, accepted: [devices[0]], others: [(devices[1], .pending, .timeout)],
      lists: [.retry([devices[1]], after: .zero, credential: credential.id)], ends: true))

  for _ in 0..<100 {
    try await fixture.store.hold([credential.id], reason: "InvalidProviderToken")
    #expect(try await fixture.claim().isEmpty)
    #expect(try await fixture.status(id).state == .held)
    try await fixture.store.resume([credential.id])
  }
  let held = try await fixture.store.credentials()[0]
  #expect(held.heldSince == nil && held.heldReason == nil)
  let list = try await fixture.claimOne()
  #expect(list.tries == 1 && list.attempt == 1 && list.epoch == 1)
  try await fixture.deliver(list)
  #expect(try await fixture.status(id).counts.accepted == 2)
}

private func trouble(_ fixture: StoreFixture) async throws {
  let credentials = try await fixture.bindApp(StoreFixture.topic, [.production, .sandbox]).map(\.id)
  func troubles() async throws -> [Credential.Trouble?] { try await fixture.store.credentials().map(\.trouble) }
  let start = fixture.clocks.wallTime()
  try await fixture.store.note(trouble: "no connection", of: [credentials[0]])
  fixture.clocks.advance(by: .seconds(5))
  try await fixture.store.note(trouble: "no certificate", of: [credentials[0]])

  #expect(try await troubles() == [.init(since: start, text: "no certificate"), nil])
  #expect(try await fixture.store.credentials()[0].heldSince == nil)
  try await fixture.store.note(trouble: nil, of: credentials)
  #expect(try await troubles() == [nil, nil])
}

private func holdingOneEnvironment(_ fixture: StoreFixture) async throws {
  let credentials = try await fixture.bindApp(StoreFixture.topic, [.production, .sandbox])
  try await fixture.store.hold([credentials[0].id], reason: "BadEnvironmentKeyInToken")
  let since = fixture.clocks.wallTime()
  fixture.clocks.advance(by: .seconds(5))
  try await fixture.store.hold([credentials[0].id], reason: "operator")
  let held = try await fixture.store.credentials()
  #expect(held[0].heldSince == since && held[0].heldReason == "operator" && held[1].heldSince == nil)

  let production = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]), environment: .production)
  let sandbox = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]), environment: .sandbox)
  let both = try await fixture.publish(Target(interests: ["news"]))
  #expect(Set(try await fixture.claim().map(\.notificationID)) == [sandbox, both])
  #expect(try await fixture.status(production).state == .held)
}

private func publishingWhileHeld(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0]
  try await fixture.store.hold([credential.id], reason: "operator")
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  let time = UnixMilliseconds(fixture.clocks.wallTime().value + 5000)
  let scheduled = try await fixture.publish(Target(tokens: [StoreFixture.token(2)]), sendAt: time)
  #expect(try await fixture.status(id).state == .held)
  #expect(try await fixture.status(scheduled).state == .scheduled)

  fixture.clocks.advance(by: .seconds(5))
  #expect(try await fixture.claim().isEmpty)
  try await fixture.store.sweep()
  #expect(try await fixture.status(scheduled).state == .held)
  try await fixture.store.resume([credential.id])
  #expect(Set(try await fixture.claim(window: .seconds(60)).map(\.notificationID)) == [id, scheduled])
}

private func heldLists(_ fixture: StoreFixture) async throws {
  let credentials = try await fixture.bindApp(StoreFixture.topic, [.production, .sandbox])
  let production = try await fixture.register(0..<2, interests: ["news"])
  let sandbox = try await fixture.register(2..<4, interests: ["news"], environment: .sandbox)
  let id = try await fixture.publish(Target(interests: ["news"]))
  let task = try await fixture.claimOne()
  try await fixture.store.hold([credentials[1].id], reason: "InvalidProviderToken")
  let list = NewList.retry(sandbox, after: .zero, credential: credentials[1].id, counted: false, held: true)
  try await fixture.flush(
    .news(of: task, accepted: production, others: sandbox.map { ($0, .pending, .held) }, lists: [list], ends: true))

  #expect(try await fixture.claim().isEmpty)
  try await fixture.store.sweep()
  #expect(try await fixture.claim().isEmpty)
  try await fixture.store.resume([credentials[1].id])
  let resumed = try await fixture.claimOne()
  #expect(resumed.list == sandbox.sorted() && resumed.tries == 0 && resumed.credentialID == credentials[1].id)
  try await fixture.deliver(resumed)
  #expect(try await fixture.status(id).counts.accepted == 4)
}

private func releasedAsHeld(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0]
  try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  let task = try await fixture.claimOne()
  try await fixture.store.hold([credential.id], reason: "InvalidProviderToken")
  let lease = LeaseReference(task: task.id, epoch: task.epoch)
  #expect(try await fixture.store.release(lease, to: .held, owner: 1))

  #expect(try await fixture.claim().isEmpty)
  try await fixture.store.resume([credential.id])
  #expect(try await fixture.claimOne().id == task.id)
}

private func noSigner(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0]
  try await fixture.store.signerSeen([credential.id])
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  fixture.clocks.advance(by: .seconds(300))
  try await fixture.store.sweep()
  #expect(try await fixture.store.credentials()[0].heldSince == nil)

  fixture.clocks.advance(by: .seconds(1))
  try await fixture.store.sweep()
  #expect(try await fixture.store.credentials()[0].heldReason == "NoSigner")
  #expect(try await fixture.status(id).state == .held)

  try await fixture.store.signerSeen([credential.id])
  #expect(try await fixture.store.credentials()[0].heldSince == nil)
  #expect(try await fixture.claimOne().notificationID == id)

  try await fixture.store.hold([credential.id], reason: "operator")
  try await fixture.store.signerSeen([credential.id])
  #expect(try await fixture.store.credentials()[0].heldReason == "operator")
}

private func heldExpiry(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0]
  try await fixture.store.hold([credential.id], reason: "operator")
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]), deadline: .after(.seconds(60)))
  func expired() async throws -> [LeasedTask] {
    try await fixture.store.claimExpired(owner: 1, lease: StoreFixture.lease, limit: 10)
  }

  #expect(try await expired().isEmpty)
  fixture.clocks.advance(by: .seconds(60))
  let tasks = try await expired()
  #expect(tasks.map(\.notificationID) == [id])
  #expect(tasks[0].timeLeft == .zero && !tasks[0].isCanceled)
  let device = try await fixture.walk(tasks[0])[0]
  try await fixture.flush(.news(of: tasks[0], others: [(device, .expired, .held)], ends: true))
  let status = try await fixture.status(id)
  #expect(status.state == .done && status.counts.expired == 1)
}

private func parkedExpiry(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let named = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]), deadline: .after(.seconds(600)))
  let wide = try await fixture.publish(Target(interests: ["news"]), deadline: .after(.seconds(600)))
  for round in 0..<5 {
    _ = try await fixture.claim(owner: Int64(round))
    fixture.clocks.advance(by: .seconds(16))
    _ = try await fixture.store.reap(except: [])
  }
  try await fixture.store.sweep()
  #expect(try await fixture.status(named).state == .parked)
  fixture.clocks.advance(by: .seconds(600))
  try await fixture.store.sweep()

  let status = try await fixture.status(named)
  #expect(status.state == .done && status.isComplete && status.counts.devices == 1 && status.counts.expired == 1)
  let open = try await fixture.status(wide)
  #expect(open.state == .done && !open.isComplete)
}

private func manyHeldTasks(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0]
  try await withThrowingTaskGroup(of: Void.self) { group in
    for number in 0..<2100 {
      group.addTask { try await fixture.publish(Target(tokens: [StoreFixture.token(number)])) }
    }
    try await group.waitForAll()
  }
  try await fixture.store.hold([credential.id], reason: "operator")
  try await fixture.store.resume([credential.id])
  #expect(try await fixture.claim(limit: 5000).count == 2100)
}

// MARK: Cancellation

private func cancelUnclaimed(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register(0..<3, interests: ["news"])
  let named = try await fixture.publish(Target(tokens: [StoreFixture.token(8), StoreFixture.token(9)]))
  let wide = try await fixture.publish(Target(interests: ["news"]))

  #expect(try await fixture.store.cancel(named) == true)
  #expect(try await fixture.store.cancel(wide) == true)

  let status = try await fixture.status(named)
  #expect(status.state == .canceled && status.isComplete && status.doneAt == fixture.clocks.wallTime())
  #expect(status.counts.devices == 2 && status.counts.canceled == 2)
  let open = try await fixture.status(wide)
  #expect(open.state == .canceled && !open.isComplete && open.counts.devices == 0)
  #expect(try await fixture.claim().isEmpty)
}

private func cancelLeased(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<9, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]))
  var task = try await fixture.claimOne()
  let retried = [devices[1], devices[2]]
  try await fixture.flush(
    .news(of: task, accepted: [devices[0]], others: retried.map { ($0, .pending, .timeout) }, lists: [.retry(retried)]))
  task.settled = 3
  #expect(try await fixture.store.cancel(id) == true)
  #expect(try await fixture.status(id).state == .canceled)
  #expect(try await fixture.status(id).doneAt == nil)

  let lease = LeaseReference(task: task.id, epoch: task.epoch)
  #expect(try await fixture.store.renew([lease], owner: 1, lease: StoreFixture.lease) == [.canceled])
  let answered = TaskFlush.news(of: task, accepted: [devices[3]], ends: true, cut: true)
  #expect(try await fixture.flush(answered) == .canceled)

  let status = try await fixture.status(id)
  #expect(status.state == .canceled && !status.isComplete && status.doneAt != nil)
  #expect(status.counts.devices == 4 && status.counts.accepted == 2 && status.counts.canceled == 2)
  #expect(status.counts.pending == 0)
  let outcomes = try await fixture.receipts(id).map(\.outcome)
  #expect(outcomes == [.accepted, .canceled, .canceled, .accepted])
  fixture.clocks.advance(by: .seconds(60))
  #expect(try await fixture.claim().isEmpty)
}

private func cancelMeetsRetry(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<4, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]))
  let task = try await fixture.claimOne()
  #expect(try await fixture.store.cancel(id) == true)

  let news = TaskFlush.news(
    of: task, accepted: Array(devices[..<2]), others: devices[2...].map { ($0, .pending, .timeout) },
    lists: [.retry(Array(devices[2...]))], ends: true)
  #expect(try await fixture.flush(news) == .canceled)

  let status = try await fixture.status(id)
  #expect(status.doneAt != nil && status.counts.accepted == 2 && status.counts.canceled == 2)
  #expect(status.counts.pending == 0)
  fixture.clocks.advance(by: .seconds(60))
  #expect(try await fixture.claim().isEmpty)
}

private func canceledClaims(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  _ = try await fixture.claimOne()
  #expect(try await fixture.store.cancel(id) == true)
  fixture.clocks.advance(by: .seconds(16))
  _ = try await fixture.store.reap(except: [])

  let task = try await fixture.claimOne(owner: 2)
  #expect(task.isCanceled)
  let device = try await fixture.walk(task)[0]
  try await fixture.flush(.news(of: task, others: [(device, .canceled, .none)], ends: true), owner: 2)
  let status = try await fixture.status(id)
  #expect(status.doneAt != nil && status.counts.canceled == 1)
}

private func cancelFinal(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  try await fixture.deliver(try await fixture.claimOne())
  #expect(try await fixture.store.cancel(id) == false)
  #expect(try await fixture.status(id).state == .done)
  let second = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  #expect(try await fixture.store.cancel(second) == true)
  #expect(try await fixture.store.cancel(second) == false)
  #expect(try await fixture.store.cancel(NotificationID(77)) == nil)
}
