import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let leases = [
    StoreBehavior("A task goes from publish to done with one receipt a device", lifeOfATask),
    StoreBehavior("Two workers never hold the same task", claimsAreExclusive),
    StoreBehavior("Claims come in the order of due times, within the window when one is given", claimOrder),
    StoreBehavior("A worker is not given tasks of credentials it cannot sign for", claimsAreSignable),
    StoreBehavior("A lease that ran out makes the task ready; a renewed one does not", leasesRunOut),
    StoreBehavior("A worker's own live tasks are not taken for those of a dead one", ownTasksLive),
    StoreBehavior("A clock that is set back an hour holds up neither leased nor new work", clockSetBack),
    StoreBehavior("A task that is claimed five times without a receipt is parked until an operator frees it", parking),
    StoreBehavior("A receipt starts the count of claims without progress again", progressPreventsParking),
    StoreBehavior("A task given back does not count the claim and keeps its cursor", releases),
    StoreBehavior("An urgent task can be split into ranges of another lane without losing a device", splits),
    StoreBehavior("A split that would leave devices out is refused", splitsAreWhole),
  ]
}

private func lifeOfATask(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<5, interests: ["news"])

  let id = try await fixture.publish(Target(interests: ["news"]))
  #expect(try await fixture.status(id).state == .queued)
  let task = try await fixture.claimOne()
  #expect(try await fixture.status(id).state == .sending)
  #expect(try await fixture.walk(task) == devices.sorted())
  #expect(try await fixture.deliver(task) == .kept)

  let status = try await fixture.status(id)
  #expect(status.state == .done)
  #expect(status.isComplete)
  #expect(status.doneAt == fixture.clocks.wallTime())
  #expect(status.counts.devices == 5 && status.counts.accepted == 5 && status.counts.pending == 0)
  #expect(try await fixture.receipts(id).map(\.deviceID) == devices.sorted())
  #expect(try await fixture.claim().isEmpty)
}

private func claimsAreExclusive(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  for number in 0..<40 { try await fixture.publish(Target(tokens: [StoreFixture.token(number)])) }
  let other = try await fixture.openAnother()

  let claimed = try await withThrowingTaskGroup(of: [TaskID].self) { group in
    for owner in 1...8 {
      group.addTask {
        try await fixture.claim(owner: Int64(owner), from: owner.isMultiple(of: 2) ? other : nil, limit: 5).map(\.id)
      }
    }
    return try await group.reduce(into: []) { $0 += $1 }
  }
  await other.close()

  #expect(claimed.count == 40)
  #expect(Set(claimed).count == 40)
  #expect(try await fixture.claim(owner: 9).isEmpty)
}

private func claimOrder(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  var ids: [NotificationID] = []
  for number in 0..<3 {
    ids.append(try await fixture.publish(Target(tokens: [StoreFixture.token(number)])))
    fixture.clocks.advance(by: .seconds(60))
  }
  try await fixture.publish(Target(tokens: [StoreFixture.token(9)]), lane: .bulk)

  let recent = try await fixture.claim(window: .seconds(60))
  #expect(recent.map(\.notificationID) == [ids[2]])
  let first = try await fixture.claim(limit: 1)
  #expect(first.map(\.notificationID) == [ids[0]])
  #expect(try await fixture.claim().map(\.notificationID) == [ids[1]])
}

private func claimsAreSignable(_ fixture: StoreFixture) async throws {
  let own = try await fixture.bindApp()[0]
  let foreign = try await fixture.bindApp("com.example.other")[0]
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  try await fixture.publish(Target(tokens: [StoreFixture.token(1)]), topic: "com.example.other")

  func claim(_ credentials: [CredentialID]) async throws -> [LeasedTask] {
    try await fixture.store.claim(
      ClaimRequest(
        lane: .normal, owner: 1, lease: StoreFixture.lease, window: nil, credentials: credentials, limit: 10))
  }
  #expect(try await claim([]).isEmpty)
  #expect(try await claim([own.id]).map(\.notificationID) == [id])
  #expect(try await claim([own.id]).isEmpty)
  #expect(try await claim([foreign.id]).count == 1)
}

private func leasesRunOut(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  let task = try await fixture.claimOne(owner: 1)

  fixture.clocks.advance(by: .seconds(14))
  #expect(try await fixture.store.reap(except: []).isEmpty)
  let renewed = try await fixture.store.renew(
    [LeaseReference(task: task.id, epoch: task.epoch)], owner: 1, lease: StoreFixture.lease)
  #expect(renewed == [.kept])
  fixture.clocks.advance(by: .seconds(14))
  #expect(try await fixture.store.reap(except: []).isEmpty)
  fixture.clocks.advance(by: .seconds(2))
  let reaped = try await fixture.store.reap(except: [])
  #expect(
    reaped == [ReapedTask(id: task.id, notificationID: task.notificationID, lane: .normal, isParked: false)])

  let next = try await fixture.claimOne(owner: 2)
  #expect(next.id == task.id && next.epoch == task.epoch + 1)
  let late = try await fixture.store.renew(
    [LeaseReference(task: task.id, epoch: task.epoch)], owner: 1, lease: StoreFixture.lease)
  #expect(late == [.lost])
}

private func ownTasksLive(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  let task = try await fixture.claimOne(owner: 1)
  fixture.clocks.advance(by: .seconds(60))

  #expect(try await fixture.store.reap(except: [task.id]).isEmpty)
  let renewed = try await fixture.store.renew(
    [LeaseReference(task: task.id, epoch: task.epoch)], owner: 1, lease: StoreFixture.lease)
  #expect(renewed == [.kept])
}

private func clockSetBack(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  let leased = try await fixture.claimOne(owner: 1)
  let waiting = try await fixture.publish(Target(tokens: [StoreFixture.token(2)]))
  fixture.clocks.stepWall(by: .seconds(-3600))

  #expect(try await fixture.store.reap(except: []).map(\.id) == [leased.id])
  try await fixture.store.sweep()
  let claimed = try await fixture.claim()
  #expect(Set(claimed.map(\.notificationID)) == [leased.notificationID, waiting])
}

private func parking(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  for round in 1...5 {
    _ = try await fixture.claimOne(owner: Int64(round))
    fixture.clocks.advance(by: .seconds(16))
    #expect(try await fixture.store.reap(except: []).map(\.isParked) == [round == 5])
  }
  #expect(try await fixture.claim().isEmpty)
  #expect(try await fixture.status(id).state == .parked)
  let other = try await fixture.publish(Target(tokens: [StoreFixture.token(2)]))
  #expect(try await fixture.claimOne().notificationID == other)

  #expect(try await fixture.store.unpark(id) == 1)
  #expect(try await fixture.store.unpark(id) == 0)
  #expect(try await fixture.deliver(try await fixture.claimOne()) == .kept)
  #expect(try await fixture.status(id).state == .done)
}

private func progressPreventsParking(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<8, interests: ["news"]).sorted()
  try await fixture.publish(Target(interests: ["news"]))
  for round in 0..<8 {
    let task = try await fixture.claimOne(owner: Int64(round))
    if round < 7 { try await fixture.flush(.news(of: task, accepted: [devices[round]]), owner: Int64(round)) }
    fixture.clocks.advance(by: .seconds(16))
    #expect(try await fixture.store.reap(except: []).map(\.isParked) == [false])
  }
}

private func releases(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<3, interests: ["news"]).sorted()
  try await fixture.publish(Target(interests: ["news"]))
  for round in 0..<7 {
    let task = try await fixture.claimOne(owner: 1)
    if round == 0 { try await fixture.flush(.news(of: task, accepted: [devices[0]])) }
    let lease = LeaseReference(task: task.id, epoch: task.epoch)
    #expect(try await fixture.store.release(lease, to: .ready(.normal), owner: 1))
    #expect(try await fixture.store.release(lease, to: .ready(.normal), owner: 1) == false)
  }

  let task = try await fixture.claimOne(owner: 2)
  #expect(task.cursor == devices[0])
  #expect(task.settled == 1)
  #expect(try await fixture.walk(task) == Array(devices[1...]))
  fixture.clocks.advance(by: .seconds(16))
  #expect(try await fixture.store.reap(except: []).map(\.isParked) == [false])
}

private func splits(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<50, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]), lane: .urgent)
  let task = try await fixture.claimOne(.urgent)
  try await fixture.flush(.news(of: task, accepted: Array(devices[..<10])))
  try await fixture.register(100..<101, interests: ["news"])
  let cuts = [devices[9], devices[20], devices[35], task.hi]
  let ranges = zip(cuts, cuts.dropFirst()).map { (lo: $0, hi: $1) }

  let lease = LeaseReference(task: task.id, epoch: task.epoch)
  #expect(try await fixture.store.split(lease, into: ranges, lane: .normal, owner: 1))
  #expect(try await fixture.store.split(lease, into: ranges, lane: .normal, owner: 1) == false)

  #expect(try await fixture.claim(.urgent).isEmpty)
  let parts = try await fixture.claim(.normal)
  #expect(parts.count == 3)
  for part in parts { #expect(try await fixture.deliver(part) == .kept) }
  let status = try await fixture.status(id)
  #expect(status.state == .done && status.isComplete && status.counts.accepted == 50)
}

private func splitsAreWhole(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.publish(Target(interests: ["news"]), lane: .urgent)
  let task = try await fixture.claimOne(.urgent)
  let lease = LeaseReference(task: task.id, epoch: task.epoch)
  let middle = DeviceID(1 << 45)

  for ranges in [[(lo: task.lo, hi: middle)], [(lo: middle, hi: task.hi)], []] {
    await #expect(throws: StoreError.self) {
      _ = try await fixture.store.split(lease, into: ranges, lane: .normal, owner: 1)
    }
  }
}
