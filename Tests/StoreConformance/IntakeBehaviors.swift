import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let intake = [
    StoreBehavior("A publish to an unknown topic is refused and stores nothing", unknownTopicIsRefused),
    StoreBehavior("A failing publish does not fail those that wait beside it", failuresStayAlone),
    StoreBehavior("What was published comes back byte for byte", publicationsComeBack),
    StoreBehavior("Ids grow with time", idsGrow),
    StoreBehavior("One deadline follows from each way to give it", deadlines),
    StoreBehavior("A scheduled send waits for its time", scheduledSends),
    StoreBehavior(
      "Whoever registers before a scheduled send is in, whoever registers during it is not", lateRegistrations),
    StoreBehavior("A wide audience is cut into ranges that meet every device once", wideAudiences),
    StoreBehavior("Small notifications keep a row a device, bulk and wide ones do not", rowReceiptsRule),
    StoreBehavior("The expected devices follow from the counts at hand", expectedDevices),
    StoreBehavior(
      "A named token gets the environment asked for, its own, the only one, or the default", tokenEnvironments),
    StoreBehavior("A handler hears of new work at once, and of another process's work", newWorkIsHeard),
  ]

  static let idempotency = [
    StoreBehavior("The same key and request give the same notification", sameKeySameRequest),
    StoreBehavior("The same key with another request is a conflict", sameKeyOtherRequest),
    StoreBehavior("Another API key's key is another key", otherScope),
    StoreBehavior("After 24 hours a key is new again", keysAge),
    StoreBehavior("One key used by many at once stores one notification", concurrentKeys),
  ]
}

private func unknownTopicIsRefused(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let publication = StoreFixture.publication(Target(interests: ["news"]), topic: "com.example.unknown")

  do {
    _ = try await fixture.store.publish(publication)
    Issue.record("an unknown topic was accepted")
  } catch {
    #expect(error.code == .unknownTopic)
  }
  #expect(try await fixture.claim().isEmpty)
}

private func failuresStayAlone(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()

  let stored = await withTaskGroup(of: NotificationID?.self) { group in
    for number in 0..<40 {
      group.addTask {
        let topic = number.isMultiple(of: 4) ? "com.example.unknown" : StoreFixture.topic
        let target = Target(tokens: [StoreFixture.token(number)])
        let result = try? await fixture.store.publish(StoreFixture.publication(target, topic: topic))
        if case .stored(let id, _) = result { return id }
        return nil
      }
    }
    return await group.reduce(into: [NotificationID]()) { if let id = $1 { $0.append(id) } }
  }

  #expect(stored.count == 30)
  #expect(Set(try await fixture.claim().map(\.notificationID)) == Set(stored))
}

private func publicationsComeBack(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let payload = Array(#"{ "aps" : {"alert":"é\u0000\/"},"n":1.10 }"#.utf8)
  var publication = StoreFixture.publication(Target(interests: ["b", "a", "a"], users: ["ada"]), lane: .urgent)
  publication.payload = payload
  publication.headers = PushHeaders(
    pushType: .alert, priority: .immediate, collapseID: "c", expiresImmediately: true)
  publication.deadline = .immediate
  publication.reachesUnverifiedUsers = true
  guard case .stored(let id, _) = try await fixture.store.publish(publication) else { return }

  let stored = try #require(try await fixture.store.notification(id))
  #expect(stored.payload == payload && stored.headers == publication.headers)
  #expect(stored.topic == StoreFixture.topic && stored.rowReceipts)
  #expect(stored.target.interests.count == 2 && stored.target.users == ["ada"])
  #expect(stored.target.reachesUnverifiedUsers && !stored.target.everyone)
  #expect(try await fixture.store.notification(NotificationID(1)) == nil)
  #expect(try await fixture.store.status(NotificationID(1)) == nil)
}

private func idsGrow(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  var ids: [NotificationID] = []
  for number in 0..<5 {
    ids.append(try await fixture.publish(Target(tokens: [StoreFixture.token(number)])))
    fixture.clocks.advance(by: .milliseconds(1))
  }
  #expect(ids == ids.sorted() && Set(ids).count == 5)
  #expect(ids.allSatisfy { $0.rawValue < 1 << 53 })
}

private func deadlines(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let now = fixture.clocks.wallTime().value
  let target = Target(tokens: [StoreFixture.token(1)])

  func expiry(_ deadline: Deadline, sendAt: Int64? = nil) async throws -> Int64 {
    let id = try await fixture.publish(target, sendAt: sendAt.map { UnixMilliseconds($0) }, deadline: deadline)
    return try await fixture.status(id).expiresAt.value - now
  }
  #expect(try await expiry(.after(.seconds(10))) == 10_000)
  #expect(try await expiry(.after(.seconds(10)), sendAt: now + 5000) == 15_000)
  #expect(try await expiry(.at(UnixMilliseconds(now + 7000))) == 7000)
  #expect(try await expiry(.immediate) == 60_000)
  #expect(try await expiry(.immediate, sendAt: now + 5000) == 65_000)
}

private func scheduledSends(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let time = UnixMilliseconds(fixture.clocks.wallTime().value + 60_000)
  let id = try await fixture.publish(Target(tokens: [StoreFixture.token(1)]), sendAt: time)

  #expect(try await fixture.claim().isEmpty)
  let status = try await fixture.status(id)
  #expect(status.state == .scheduled && status.sendAt == time)
  fixture.clocks.advance(by: .seconds(60))
  #expect(try await fixture.status(id).state == .queued)
  #expect(try await fixture.claim(window: .seconds(60)).map(\.notificationID) == [id])

  let past = UnixMilliseconds(fixture.clocks.wallTime().value - 3_600_000)
  let late = try await fixture.publish(Target(tokens: [StoreFixture.token(2)]), sendAt: past)
  #expect(try await fixture.claim(window: .seconds(60)).map(\.notificationID) == [late])
}

private func lateRegistrations(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let first = try await fixture.register([1], interests: ["news"])
  let time = UnixMilliseconds(fixture.clocks.wallTime().value + 60_000)
  try await fixture.publish(Target(interests: ["news", "later"]), sendAt: time)
  let second = try await fixture.register([2], interests: ["later"])
  fixture.clocks.advance(by: .seconds(60))

  let task = try await fixture.claimOne()
  try await fixture.register([3], interests: ["news"])
  #expect(try await fixture.walk(task) == (first + second).sorted())

  fixture.clocks.advance(by: .seconds(16))
  _ = try await fixture.store.reap(except: [])
  let again = try await fixture.claimOne(owner: 2)
  #expect(try await fixture.walk(again) == (first + second).sorted())
}

private func wideAudiences(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  var ids: [DeviceID] = []
  for start in stride(from: 0, to: 26_000, by: 2000) {
    ids += try await fixture.register(start..<(start + 2000), interests: ["news"])
  }

  let id = try await fixture.publish(Target(interests: ["news"]), lane: .bulk)
  let tasks = try await fixture.claim(.bulk)
  #expect(tasks.count == 2)
  var walked: [DeviceID] = []
  for task in tasks {
    let devices = try await fixture.walk(task)
    walked += devices
    try await fixture.flush(.news(of: task, accepted: devices, ends: true, rows: false))
  }
  #expect(walked.sorted() == ids.sorted())
  #expect(try await fixture.status(id).counts.accepted == ids.count)

  try await fixture.publish(Target(interests: ["news"]), lane: .urgent)
  #expect(try await fixture.claim(.urgent).count == 1)
}

private func rowReceiptsRule(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register(0..<60, interests: ["a"])
  try await fixture.register(60..<120, interests: ["b"])
  try await fixture.register([200], user: "ada")

  func hasRows(_ target: Target, _ lane: Lane) async throws -> Bool {
    let id = try await fixture.publish(target, lane: lane)
    return try await fixture.store.notification(id)?.rowReceipts == true
  }
  #expect(try await hasRows(Target(interests: ["a"]), .normal))
  #expect(try await hasRows(Target(interests: ["a"], users: ["ada"]), .urgent))
  #expect(try await hasRows(Target(interests: ["a"]), .bulk) == false)
  #expect(try await hasRows(Target(interests: ["a", "b"]), .normal) == false)
  #expect(try await hasRows(Target(everyone: true), .normal) == false)
  #expect(try await hasRows(Target(tokens: (0..<100).map(StoreFixture.token)), .normal))
  #expect(try await hasRows(Target(tokens: (0..<101).map(StoreFixture.token)), .normal) == false)
}

private func expectedDevices(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register(0..<10, interests: ["a"], user: "ada")
  func expected(_ target: Target) async throws -> Int {
    guard case .stored(_, let count) = try await fixture.store.publish(StoreFixture.publication(target)) else {
      return -1
    }
    return count
  }
  #expect(try await expected(Target(interests: ["a", "unknown"])) == 10)
  #expect(try await expected(Target(users: ["ada", "bob"])) == 10)
  #expect(try await expected(Target(everyone: true)) == 10)
  #expect(try await expected(Target(tokens: [StoreFixture.token(1), StoreFixture.token(1)])) == 1)
  _ = try await fixture.store.removeDevice(
    topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(0))
  #expect(try await expected(Target(interests: ["a"])) == 9)
  #expect(try await expected(Target(everyone: true)) == 9)
}

private func tokenEnvironments(_ fixture: StoreFixture) async throws {
  let production = try await fixture.bindApp()[0]
  func environment(of number: Int, _ change: (inout Publication) -> Void = { _ in }) async throws -> CredentialID? {
    var publication = StoreFixture.publication(Target(tokens: [StoreFixture.token(number)]))
    change(&publication)
    guard case .stored(let id, _) = try await fixture.store.publish(publication),
      let target = try await fixture.store.notification(id)?.target
    else { return nil }
    return try await fixture.named(target.devices, of: target).credentials.first
  }

  #expect(try await environment(of: 1) { $0.defaultEnvironment = .sandbox } == production.id)
  let sandbox = try await fixture.bindApp(StoreFixture.topic, [.production, .sandbox])[1]
  #expect(try await environment(of: 2) { $0.defaultEnvironment = .sandbox } == sandbox.id)
  #expect(try await environment(of: 3) { $0.environment = .sandbox } == sandbox.id)
  #expect(try await environment(of: 3) == sandbox.id)
  #expect(try await environment(of: 1) == production.id)
  try await fixture.register([2])
  #expect(try await environment(of: 2) == production.id)
}

private func newWorkIsHeard(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let heard = Watched<[Lane]>([])
  await fixture.store.onNewWork { lane in heard.update { $0.append(lane) } }
  let other = try await fixture.openAnother()

  try await fixture.publish(Target(tokens: [StoreFixture.token(1)]), lane: .urgent)
  _ = try await heard.wait(within: .seconds(10), "for the own work") { $0.contains(.urgent) }
  #expect(!heard.current.contains(.bulk))
  _ = try await other.publish(StoreFixture.publication(Target(tokens: [StoreFixture.token(2)]), lane: .bulk))
  _ = try await heard.wait(within: .seconds(10), "for another process's work") { $0.contains(.bulk) }
  await other.close()
}

// MARK: Idempotency

private func key(_ text: String, hash: UInt8 = 1, scope: Int64 = 0) -> IdempotencyKey {
  IdempotencyKey(scope: scope, key: text, requestHash: Array(repeating: hash, count: 32))
}

extension StoreFixture {
  fileprivate func publish(_ key: IdempotencyKey) async throws -> PublishResult {
    try await store.publish(Self.publication(Target(tokens: [Self.token(1)]), key: key))
  }

  fileprivate func storedID(_ key: IdempotencyKey) async throws -> NotificationID {
    guard case .stored(let id, _) = try await publish(key) else { throw SupportError("the key is in use") }
    return id
  }
}

private func sameKeySameRequest(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.storedID(key("a"))
  #expect(try await fixture.publish(key("a")) == .repeated(id))
  #expect(try await fixture.claim().count == 1)
  #expect(try await fixture.storedID(key("b")) != id)
}

private func sameKeyOtherRequest(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.storedID(key("a", hash: 1))
  #expect(try await fixture.publish(key("a", hash: 2)) == .conflict(id))
  #expect(try await fixture.claim().count == 1)
}

private func otherScope(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.storedID(key("a", scope: 1))
  #expect(try await fixture.storedID(key("a", hash: 2, scope: 2)) != id)
}

private func keysAge(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.storedID(key("a"))
  fixture.clocks.advance(by: .seconds(86_399))
  #expect(try await fixture.publish(key("a", hash: 2)) == .conflict(id))
  fixture.clocks.advance(by: .seconds(1))
  let second = try await fixture.storedID(key("a", hash: 2))
  #expect(second != id)
  #expect(try await fixture.publish(key("a", hash: 2)) == .repeated(second))
}

private func concurrentKeys(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let other = try await fixture.openAnother()
  let results = try await withThrowingTaskGroup(of: PublishResult.self) { group in
    for index in 0..<16 {
      group.addTask {
        let publication = StoreFixture.publication(
          Target(tokens: [StoreFixture.token(1)]), key: key("a", hash: index < 8 ? 1 : 2))
        return try await (index.isMultiple(of: 2) ? fixture.store : other).publish(publication)
      }
    }
    return try await group.reduce(into: []) { $0.append($1) }
  }
  await other.close()

  let stored = results.filter {
    if case .stored = $0 { true } else { false }
  }
  let conflicts = results.filter {
    if case .conflict = $0 { true } else { false }
  }
  #expect(stored.count == 1)
  #expect(conflicts.count == 8)
  #expect(try await fixture.claim().count == 1)
}
