import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let flushes = [
    StoreBehavior("A flush with a stale owner, epoch or number of receipts writes nothing", staleFlushes),
    StoreBehavior("A flush sent twice doubles neither receipts nor sums nor retries", resentFlushes),
    StoreBehavior("News of several tasks are written together, the lost ones left out", mixedFlushes),
    StoreBehavior("Retries of one flush are one list that counts its try", retriesAreOneList),
    StoreBehavior("A list keeps the notification open until it ends", listsKeepOpen),
    StoreBehavior("A notification of many tasks is done exactly once", doneOnce),
    StoreBehavior("A new owner learns what was settled beyond the cursor", recovery),
    StoreBehavior("Sums add up over accepted, rejected, expired, failed and skipped", sums),
    StoreBehavior("A device is retired unless it registered again", retirement),
    StoreBehavior("An unknown reason has one number for ever", reasons),
  ]
}

extension StoreFixture {
  /// An app with subscribers of "news", a notification to them, and its claimed task.
  fileprivate func claimedBroadcast(_ count: Int = 6) async throws -> (devices: [DeviceID], task: LeasedTask) {
    try await bindApp()
    let devices = try await register(0..<count, interests: ["news"]).sorted()
    try await publish(Target(interests: ["news"]))
    return (devices, try await claimOne())
  }
}

private func staleFlushes(_ fixture: StoreFixture) async throws {
  let (devices, task) = try await fixture.claimedBroadcast()
  let retry = [NewList.retry([devices[0]])]
  var older = task
  older.epoch -= 1

  let news = TaskFlush.news(of: task, accepted: devices, lists: retry, ends: true)
  #expect(try await fixture.flush(news, owner: 2) == .lost)
  #expect(try await fixture.flush(.news(of: older, accepted: devices, lists: retry, ends: true)) == .lost)
  #expect(
    try await fixture.flush(.news(of: task, accepted: devices, lists: retry, ends: true, settledBefore: 1)) == .lost)

  let status = try await fixture.status(task.notificationID)
  #expect(status.counts == Counts() && status.state == .sending)
  #expect(try await fixture.receipts(task.notificationID).isEmpty)
  fixture.clocks.advance(by: .seconds(60))
  #expect(try await fixture.claim().isEmpty)
  #expect(try await fixture.flush(news) == .kept)
}

private func resentFlushes(_ fixture: StoreFixture) async throws {
  let (devices, task) = try await fixture.claimedBroadcast()
  let flush = TaskFlush.news(
    of: task, accepted: Array(devices[1...]), others: [(devices[0], .pending, .timeout)],
    lists: [.retry([devices[0]])])

  #expect(try await fixture.flush(flush) == .kept)
  #expect(try await fixture.flush(flush) == .lost)

  let status = try await fixture.status(task.notificationID)
  #expect(status.counts.devices == 6 && status.counts.accepted == 5 && status.counts.pending == 1)
  fixture.clocks.advance(by: .seconds(30))
  #expect(try await fixture.claim().compactMap(\.list) == [[devices[0]]])
  #expect(try await fixture.receipts(task.notificationID).count == 6)
}

private func mixedFlushes(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  for number in 0..<3 { try await fixture.publish(Target(tokens: [StoreFixture.token(number)])) }
  let tasks = try await fixture.claim()
  var news: [TaskFlush] = []
  for task in tasks { news.append(.news(of: task, accepted: try await fixture.walk(task), ends: true)) }
  news[1].epoch += 1

  let states = try await fixture.store.flush(news, retirements: [], owner: 1, lease: StoreFixture.lease)
  #expect(states == [.kept, .lost, .kept])
  let final = try await [0, 1, 2].asyncMap { try await fixture.status(tasks[$0].notificationID).state }
  #expect(final == [.done, .sending, .done])
}

private func retriesAreOneList(_ fixture: StoreFixture) async throws {
  let (devices, task) = try await fixture.claimedBroadcast()
  let failed = [devices[1], devices[3], devices[4]]
  try await fixture.flush(
    .news(
      of: task, accepted: [devices[0], devices[2], devices[5]], others: failed.map { ($0, .pending, .timeout) },
      lists: [.retry(failed, after: .seconds(30))], ends: true))

  #expect(try await fixture.claim().isEmpty)
  fixture.clocks.advance(by: .seconds(30))
  let list = try await fixture.claimOne(owner: 2)
  #expect(list.list == failed && list.deviceCount == 3)
  #expect(list.attempt == 1 && list.tries == 1)
  #expect(list.lo.rawValue == failed[0].rawValue - 1 && list.hi == failed[2] && list.cursor == list.lo)
  #expect(try await fixture.walk(list) == failed)

  try await fixture.flush(
    .news(of: list, others: failed.map { ($0, .pending, .held) }, lists: [.retry(failed, counted: false)], ends: true),
    owner: 2)
  fixture.clocks.advance(by: .seconds(30))
  let second = try await fixture.claimOne(owner: 2)
  #expect(second.attempt == 2 && second.tries == 1)
}

private func listsKeepOpen(_ fixture: StoreFixture) async throws {
  let (devices, task) = try await fixture.claimedBroadcast()
  try await fixture.flush(
    .news(
      of: task, accepted: Array(devices[1...]), others: [(devices[0], .pending, .timeout)],
      lists: [.retry([devices[0]])], ends: true))
  let waiting = try await fixture.status(task.notificationID)
  #expect(waiting.state == .sending && waiting.isComplete && waiting.counts.pending == 1 && waiting.doneAt == nil)

  fixture.clocks.advance(by: .seconds(30))
  try await fixture.deliver(try await fixture.claimOne())
  let status = try await fixture.status(task.notificationID)
  #expect(status.state == .done && status.counts.devices == 6 && status.counts.accepted == 6)
}

private func doneOnce(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register(0..<40, interests: ["news"])
  let id = try await fixture.publish(Target(interests: ["news"]), lane: .urgent)
  let whole = try await fixture.claimOne(.urgent)
  let cuts = (0...8).map { DeviceID(DeviceID.upperBound.rawValue / 8 * $0) }
  _ = try await fixture.store.split(
    LeaseReference(task: whole.id, epoch: whole.epoch), into: zip(cuts, cuts.dropFirst()).map { (lo: $0, hi: $1) },
    lane: .normal, owner: 1)
  let tasks = try await fixture.claim()
  #expect(tasks.count == 8)

  try await withThrowingTaskGroup(of: LeaseState.self) { group in
    for task in tasks { group.addTask { try await fixture.deliver(task) } }
    for try await state in group { #expect(state == .kept) }
  }

  let status = try await fixture.status(id)
  #expect(status.state == .done && status.isComplete && status.counts.accepted == 40)
}

private func recovery(_ fixture: StoreFixture) async throws {
  for rows in [true, false] {
    let topic = rows ? StoreFixture.topic : "com.example.packed"
    try await fixture.bindApp(topic)
    let devices = try await fixture.register(0..<120, interests: ["news"], topic: topic).sorted()
    try await fixture.publish(
      rows ? Target(tokens: (0..<90).map(StoreFixture.token)) : Target(interests: ["news"]), topic: topic)
    let task = try await fixture.claimOne()
    let settled = [devices[0], devices[2], devices[5]]
    let first = TaskFlush.news(of: task, accepted: settled, rows: rows, cursor: devices[0])
    #expect(try await fixture.flush(first) == .kept)
    var next = task
    next.settled = 3
    try await fixture.flush(.news(of: next, others: [(devices[7], .pending, .timeout)], rows: rows, cursor: devices[0]))

    fixture.clocks.advance(by: .seconds(16))
    #expect(try await fixture.store.reap(except: []).count == 1)
    let again = try await fixture.claimOne(owner: 2)
    #expect(again.cursor == devices[0] && again.settled == 4 && again.epoch == 2)
    let skip = try await fixture.store.settledDevices(of: again, rowReceipts: rows)
    #expect(skip == [devices[2], devices[5], devices[7]])
    try await fixture.flush(.news(of: again, ends: true), owner: 2)
  }
}

private func sums(_ fixture: StoreFixture) async throws {
  let (devices, task) = try await fixture.claimedBroadcast(6)
  try await fixture.flush(
    .news(
      of: task, accepted: [devices[0]],
      others: [
        (devices[1], .rejected, ReasonID(3)), (devices[2], .expired, .timeout), (devices[3], .failed, .timeout),
        (devices[4], .skipped, .deviceRetired), (devices[5], .pending, .timeout),
      ], lists: [.retry([devices[5]])], ends: true))

  let counts = try await fixture.status(task.notificationID).counts
  #expect(counts.devices == 6 && counts.accepted == 1 && counts.rejected == 1 && counts.expired == 1)
  #expect(counts.failed == 1 && counts.skipped == 1 && counts.canceled == 0 && counts.pending == 1)
}

private func retirement(_ fixture: StoreFixture) async throws {
  let (devices, task) = try await fixture.claimedBroadcast(3)
  let now = fixture.clocks.wallTime().value
  func gone(_ device: DeviceID, at time: Int64) -> Retirement {
    Retirement(device: device, registeredBefore: UnixMilliseconds(time), reason: ReasonID(9))
  }

  try await fixture.flush(
    .news(of: task, accepted: devices, ends: true),
    retiring: [gone(devices[0], at: now), gone(devices[1], at: now + 1)])

  var query = DeviceQuery()
  query.retired = true
  #expect(try await fixture.store.devices(query, after: DeviceID(0), limit: 9).map(\.id) == [devices[1]])
  try await fixture.publish(Target(interests: ["news"]))
  #expect(try await fixture.walk(try await fixture.claimOne()) == [devices[0], devices[2]])
}

private func reasons(_ fixture: StoreFixture) async throws {
  let first = try await fixture.store.reasonID(for: "NobodyKnowsThis")
  let second = try await fixture.store.reasonID(for: "NorThat")
  #expect(first.rawValue >= 1000 && second != first)
  let other = try await fixture.openAnother()
  #expect(try await other.reasonID(for: "NobodyKnowsThis") == first)
  await other.close()
}

extension Sequence {
  fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
    var values: [Value] = []
    for element in self { values.append(try await transform(element)) }
    return values
  }
}
