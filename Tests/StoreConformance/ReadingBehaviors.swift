import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let reading = [
    StoreBehavior("Receipt rows are read in pages, with tokens and every detail", rowReceipts),
    StoreBehavior("Packed receipts are read in pages that hold each device once, at its last attempt", packedReceipts),
    StoreBehavior("Every attempt that was kept is read, those of a device together, the earliest first", everyAttempt),
    StoreBehavior("A filter by outcome finds the same devices on any page size", receiptFilters),
    StoreBehavior("A flush of very many devices is read back whole, and known to the next owner", wideFlush),
    StoreBehavior("What a final notification left pending is shown as expired", pendingOfFinal),
    StoreBehavior("A reason that only the store knows is told as text", storedReasons),
    StoreBehavior("A removed device's receipt stays, without its token", receiptsOfRemoved),
  ]

  static let care = [
    StoreBehavior("Payloads are erased and receipts deleted when their time is over, not before", retention),
    StoreBehavior("Old work is removed in steps until nothing is left", retentionInSteps),
    StoreBehavior("A provider token is decided on by one process at a time", providerTokens),
    StoreBehavior("A decision that fails stores nothing", failedDecisions),
    StoreBehavior("A closed store says so", closedStore),
    StoreBehavior("Everything is there when the data is opened again", reopening),
  ]
}

private func rowReceipts(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<7, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]))
  let task = try await fixture.claimOne()
  try await fixture.flush(
    .news(
      of: task, accepted: Array(devices[1...]), others: [(devices[0], .pending, .timeout)],
      lists: [.retry([devices[0]])], ends: true))
  fixture.clocks.advance(by: .seconds(30))
  let list = try await fixture.claimOne()
  var second = TaskFlush.news(of: list, ends: true)
  second.count = 1
  second.counts.rejected = 1
  second.receipts = .rows([
    ReceiptRow(
      device: devices[0], outcome: .rejected, status: 410, reason: ReasonID(5), tries: 2, latencyMilliseconds: nil,
      apnsUniqueID: "unique")
  ])
  try await fixture.flush(second)

  let pages = try await fixture.receipts(id, limit: 3)
  #expect(pages.map(\.deviceID) == devices)
  let receipt = pages[0]
  #expect(receipt.outcome == .rejected && receipt.status == 410 && receipt.reason == ReasonID(5))
  #expect(receipt.attempts == 2 && receipt.latencyMilliseconds == nil && receipt.apnsUniqueID == "unique")
  #expect(receipt.at == fixture.clocks.wallTime() && receipt.environment == .production)
  #expect(pages[1].outcome == .accepted && pages[1].attempts == 1 && pages[1].latencyMilliseconds == 7)
  #expect(Set(pages.map(\.token)) == Set((0..<7).map { StoreFixture.token($0) }))
  #expect(try await fixture.receipts(NotificationID(5)).isEmpty)
}

extension StoreFixture {
  /// A packed notification with chunks that overlap, and a second attempt for each tenth device.
  fileprivate func packedNotification() async throws -> (id: NotificationID, devices: [DeviceID]) {
    try await bindApp()
    let devices = try await register(0..<300, interests: ["news"]).sorted()
    let id = try await publish(Target(interests: ["news"]))
    var task = try await claimOne()
    // Answers come in any order: each flush holds every fifth device.
    for part in 0..<5 {
      let mine = devices.indices.filter { $0 % 5 == part }
      let retried = mine.filter { $0 % 10 == 0 }.map { devices[$0] }
      try await flush(
        .news(
          of: task, accepted: mine.filter { $0 % 10 != 0 }.map { devices[$0] },
          others: retried.map { ($0, .pending, .timeout) }, lists: retried.isEmpty ? [] : [.retry(retried)],
          ends: part == 4, rows: false, cursor: task.cursor))
      task.settled += Int64(mine.count)
    }
    clocks.advance(by: .seconds(30))
    let list = try await claimOne()
    let retried = list.list ?? []
    try await flush(
      .news(
        of: list, accepted: Array(retried[..<20]), others: retried[20...].map { ($0, .failed, .timeout) }, ends: true,
        rows: false))
    return (id, devices)
  }
}

private func packedReceipts(_ fixture: StoreFixture) async throws {
  let (id, devices) = try await fixture.packedNotification()
  #expect(try await fixture.store.notification(id)?.rowReceipts == false)

  for limit in [1, 10, 100, 1000] {
    let receipts = try await fixture.receipts(id, limit: limit)
    #expect(receipts.map(\.deviceID) == devices)
    #expect(receipts.filter { $0.outcome == .accepted }.count == 290)
    #expect(receipts.filter { $0.outcome == .failed }.count == 10)
    #expect(receipts.allSatisfy { $0.token != nil && $0.attempts == nil && $0.latencyMilliseconds == nil })
  }
  let failed = try await fixture.receipts(id, outcome: .failed)
  #expect(failed.allSatisfy { $0.status == 503 && $0.reason == .timeout && $0.at == fixture.clocks.wallTime() })
}

private func everyAttempt(_ fixture: StoreFixture) async throws {
  let (id, devices) = try await fixture.packedNotification()

  for limit in [1, 7, 1000] {
    let receipts = try await fixture.receipts(id, attempts: .all, limit: limit)
    #expect(receipts.count == 330 && Set(receipts.map(\.deviceID)) == Set(devices))
    let repeated = receipts.filter { $0.deviceID == devices[10] }
    #expect(repeated.map(\.outcome) == [.pending, .accepted])
    #expect(repeated.allSatisfy { $0.token != nil })
  }
  #expect(try await fixture.receipts(id, outcome: .pending, attempts: .all).count == 30)
}

private func receiptFilters(_ fixture: StoreFixture) async throws {
  let (id, _) = try await fixture.packedNotification()
  let failed = try await fixture.receipts(id, outcome: .failed)
  #expect(failed.count == 10)
  #expect(try await fixture.receipts(id, outcome: .failed, limit: 7) == failed)
  #expect(try await fixture.receipts(id, outcome: .accepted, limit: 50).count == 290)
  #expect(try await fixture.receipts(id, outcome: .pending).isEmpty)
}

private func wideFlush(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<2500, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]), lane: .bulk)
  let task = try await fixture.claimOne(.bulk)
  let rejected = devices.indices.filter { $0 % 7 == 3 }
  let accepted = devices.indices.filter { $0 % 7 != 3 }
  try await fixture.flush(
    .news(
      of: task, accepted: accepted.map { devices[$0] },
      others: rejected.map { (devices[$0], .rejected, ReasonID(Int32($0 % 100) + 1)) }, rows: false, cursor: task.lo))

  fixture.clocks.advance(by: .seconds(16))
  _ = try await fixture.store.reap(except: [])
  let again = try await fixture.claimOne(.bulk, owner: 2)
  #expect(try await fixture.store.settledDevices(of: again, rowReceipts: false) == devices)
  try await fixture.flush(.news(of: again, ends: true), owner: 2)
  let receipts = try await fixture.receipts(id, limit: 400)
  #expect(receipts.map(\.deviceID) == devices)
  #expect(receipts.indices.filter { receipts[$0].outcome == .rejected } == rejected)
  #expect(rejected.allSatisfy { receipts[$0].reason == ReasonID(Int32($0 % 100) + 1) && receipts[$0].status == 503 })
  #expect(try await fixture.status(id).counts.rejected == rejected.count)
}

private func pendingOfFinal(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<2, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]), deadline: .after(.seconds(200)))
  let task = try await fixture.claimOne()
  try await fixture.flush(
    .news(
      of: task, accepted: [devices[1]], others: [(devices[0], .pending, .timeout)], lists: [.retry([devices[0]])],
      ends: true))
  #expect(try await fixture.receipts(id, outcome: .pending).map(\.deviceID) == [devices[0]])
  for round in 0..<5 {
    fixture.clocks.advance(by: .seconds(31))
    _ = try await fixture.claimOne(owner: Int64(round))
    fixture.clocks.advance(by: .seconds(16))
    _ = try await fixture.store.reap(except: [])
  }
  try await fixture.store.sweep()

  #expect(try await fixture.status(id).state == .done)
  #expect(try await fixture.receipts(id, outcome: .pending).isEmpty)
  #expect(try await fixture.receipts(id, outcome: .expired).map(\.deviceID) == [devices[0]])
}

private func storedReasons(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<1, interests: ["news"])
  let id = try await fixture.publish(Target(interests: ["news"]))
  let reason = try await fixture.store.reasonID(for: "BrandNewReason")
  let task = try await fixture.claimOne()
  try await fixture.flush(.news(of: task, others: [(devices[0], .rejected, reason)], ends: true))

  let receipt = try await fixture.receipts(id)[0]
  #expect(receipt.reason == reason && receipt.storedReason == "BrandNewReason")
}

private func receiptsOfRemoved(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<3, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]))
  try await fixture.deliver(try await fixture.claimOne())
  _ = try await fixture.store.removeDevice(
    topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(1))

  let receipts = try await fixture.receipts(id)
  #expect(receipts.map(\.deviceID) == devices)
  #expect(receipts.filter { $0.token == nil && $0.environment == nil }.count == 1)
}

// MARK: Care

private func retention(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register(0..<3, interests: ["news"])
  let id = try await fixture.publish(Target(interests: ["news"]))
  let open = try await fixture.publish(Target(interests: ["news"]), lane: .bulk, deadline: .after(.seconds(900_000)))
  try await fixture.deliver(try await fixture.claimOne())
  func removeOld() async throws {
    while try await fixture.store.removeOld(payloadsAfter: .seconds(3600), receiptsAfter: .seconds(86_400)) {}
  }

  fixture.clocks.advance(by: .seconds(3599))
  try await removeOld()
  #expect(try await fixture.store.notification(id)?.payload != nil)
  fixture.clocks.advance(by: .seconds(1))
  try await removeOld()
  #expect(try await fixture.store.notification(id)?.payload == nil)
  #expect(try await fixture.receipts(id).count == 3)

  fixture.clocks.advance(by: .seconds(86_401 - 3600))
  try await removeOld()
  #expect(try await fixture.store.status(id) == nil)
  #expect(try await fixture.receipts(id).isEmpty)
  #expect(try await fixture.store.notification(open)?.payload != nil)
  #expect(try await fixture.claim(.bulk).count == 1)
}

private func retentionInSteps(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await withThrowingTaskGroup(of: Void.self) { group in
    for number in 0..<1200 {
      group.addTask { try await fixture.publish(Target(tokens: [StoreFixture.token(number)])) }
    }
    try await group.waitForAll()
  }
  for task in try await fixture.claim(limit: 2000) { try await fixture.deliver(task) }
  fixture.clocks.advance(by: .seconds(86_400 * 31))

  var steps = 1
  while try await fixture.store.removeOld(payloadsAfter: .seconds(3600), receiptsAfter: .seconds(86_400)) { steps += 1 }
  #expect(steps >= 3)
  #expect(try await fixture.store.removeOld(payloadsAfter: .zero, receiptsAfter: .zero) == false)
}

private func providerTokens(_ fixture: StoreFixture) async throws {
  let key = ProviderKeyIdentity(teamID: "TEAM123456", keyID: "KEY1234567", publicKeySHA256: Array(0..<32))
  let minted = Watched(0)
  let other = try await fixture.openAnother()

  let records = try await withThrowingTaskGroup(of: ProviderTokenRecord.self) { group in
    for index in 0..<12 {
      group.addTask {
        try await (index.isMultiple(of: 2) ? fixture.store : other).providerToken(of: key) { present in
          if let present { return present }
          minted.update { $0 += 1 }
          return ProviderTokenRecord(jwt: "jwt \(index)", issuedAt: Int64(index), refusedUntil: nil)
        }
      }
    }
    return try await group.reduce(into: []) { $0.append($1) }
  }
  await other.close()

  #expect(Set(records.map(\.jwt)).count == 1)
  #expect(minted.current == 1)
  let until = UnixMilliseconds(5)
  let changed = try await fixture.store.providerToken(of: key) { present in
    ProviderTokenRecord(jwt: present?.jwt ?? "", issuedAt: 9, refusedUntil: until)
  }
  #expect(changed.refusedUntil == until)
  let read = try await fixture.store.providerToken(of: key) { $0 ?? changed }
  #expect(read == changed && read.jwt == records[0].jwt)
  let another = ProviderKeyIdentity(teamID: "TEAM123456", keyID: "KEY1234567", publicKeySHA256: [1])
  let fresh = try await fixture.store.providerToken(of: another) { present in
    #expect(present == nil)
    return changed
  }
  #expect(fresh == changed)
}

private func failedDecisions(_ fixture: StoreFixture) async throws {
  let key = ProviderKeyIdentity(teamID: "TEAM123456", keyID: "KEY1234567", publicKeySHA256: [])
  let failure = StoreError(code: .internal, operation: "sign", underlying: "no key", remedy: "Give one.")

  await #expect(throws: StoreError.self) {
    _ = try await fixture.store.providerToken(of: key) { (_) throws(StoreError) in throw failure }
  }
  let record = ProviderTokenRecord(jwt: "a", issuedAt: 1, refusedUntil: nil)
  let stored = try await fixture.store.providerToken(of: key) { present in
    #expect(present == nil)
    return record
  }
  #expect(stored == record)
}

private func closedStore(_ fixture: StoreFixture) async throws {
  let other = try await fixture.openAnother()
  await other.close()
  await other.close()
  do {
    _ = try await other.credentials()
    Issue.record("a closed store answered")
  } catch {
    #expect(error.code == .unavailable)
  }
  do {
    _ = try await other.publish(StoreFixture.publication(Target(everyone: true)))
    Issue.record("a closed store published")
  } catch {
    #expect(error.code == .unavailable)
  }
}

private func reopening(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let devices = try await fixture.register(0..<5, interests: ["news"]).sorted()
  let id = try await fixture.publish(Target(interests: ["news"]))
  let task = try await fixture.claimOne()
  try await fixture.flush(.news(of: task, accepted: Array(devices[..<2])))
  await fixture.store.close()

  let again = try await fixture.openAnother()
  let reopened = StoreFixture(store: again, clocks: fixture.clocks, openAnother: fixture.openAnother)
  fixture.clocks.advance(by: .seconds(16))
  #expect(try await again.reap(except: []).count == 1)
  let rest = try await reopened.claimOne(owner: 2)
  #expect(try await reopened.walk(rest) == Array(devices[2...]))
  try await reopened.deliver(rest, owner: 2)
  #expect(try await reopened.status(id).counts.accepted == 5)
  await again.close()
}
