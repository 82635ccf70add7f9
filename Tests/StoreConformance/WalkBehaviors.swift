import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let walks = [
    StoreBehavior("Windows follow each other without gap or double", windows),
    StoreBehavior("A walk leaves out retired devices, other apps and later registrations", walkLimits),
    StoreBehavior("A walk by users asks for proof unless told otherwise", walkByUsers),
    StoreBehavior("A walk to everyone leaves out what only a push named", walkToEveryone),
    StoreBehavior("Interests, users and tokens that name one device reach it once", mixedTargets),
    StoreBehavior("Named devices are told with their retirement; a removed one is missing", namedDevices),
    StoreBehavior("A list learns who is no longer meant", membership),
    StoreBehavior("A device that registers again while the cursor passes keeps its place", registeringMidWalk),
  ]
}

extension StoreFixture {
  fileprivate func window(
    _ source: WalkSource, _ credentials: [CredentialID], after: DeviceID = DeviceID(0), hi: DeviceID = .upperBound,
    sequenceLimit: Int64 = DeviceID.sequenceMask, limit: Int = 1000
  ) async throws -> DeviceWindow {
    try await walk(
      WalkRequest(
        source: source, after: after, hi: hi, sequenceLimit: sequenceLimit, credentials: credentials, limit: limit))
  }

  /// The id that a publication gave an interest.
  fileprivate func interest(_ name: String) async throws -> InterestID {
    let id = try await publish(Target(interests: [name]), lane: .bulk)
    return try #require(try await store.notification(id)?.target.interests.first)
  }

  fileprivate func retire(_ device: DeviceID) async throws {
    let later = UnixMilliseconds(clocks.wallTime().value + 1)
    _ = try await store.flush(
      [], retirements: [Retirement(device: device, registeredBefore: later, reason: ReasonID(1))], owner: 1,
      lease: Self.lease)
  }
}

private func windows(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0].id
  let ids = try await fixture.register(0..<250, interests: ["news"]).sorted()
  let interest = try await fixture.interest("news")

  var walked: [DeviceID] = []
  var tokens: [String] = []
  while true {
    let window = try await fixture.window(
      .interest(interest), [credential], after: walked.last ?? DeviceID(0), limit: 100)
    walked += window.ids
    tokens += (0..<window.count).map { String(decoding: window.token($0), as: UTF8.self) }
    #expect(window.credentials.allSatisfy { $0 == credential })
    #expect(window.registeredAt.allSatisfy { $0 == fixture.clocks.wallTime() })
    if window.count < 100 { break }
  }
  #expect(walked == ids)
  #expect(Set(tokens) == Set((0..<250).map { StoreFixture.token($0).text }))

  let part = try await fixture.window(.interest(interest), [credential], after: ids[9], hi: ids[19])
  #expect(part.ids == Array(ids[10...19]))
}

private func walkLimits(_ fixture: StoreFixture) async throws {
  let credentials = try await fixture.bindApp(StoreFixture.topic, [.production, .sandbox]).map(\.id)
  let ids = try await fixture.register(0..<10, interests: ["news"])
  let sandbox = try await fixture.register(0..<2, interests: ["news"], environment: .sandbox)
  let interest = try await fixture.interest("news")
  try await fixture.retire(ids[3])
  let active = ids.filter { $0 != ids[3] }

  #expect(try await fixture.window(.interest(interest), [credentials[0]]).ids == active.sorted())
  #expect(try await fixture.window(.interest(interest), [credentials[1]]).ids == sandbox.sorted())
  #expect(try await fixture.window(.interest(interest), credentials).ids == (active + sandbox).sorted())
  #expect(try await fixture.window(.interest(interest), []).ids == [])
  let early = active.filter { $0.sequence <= 5 }.sorted()
  #expect(try await fixture.window(.interest(interest), credentials, sequenceLimit: 5).ids == early)
}

private func walkByUsers(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0].id
  let proved = try await fixture.register(0..<3, user: "ada")
  let said = try await fixture.register(3..<5, user: "bob", verified: false)
  try await fixture.register(5..<7, user: "eve")

  let strict = try await fixture.window(.users(["ada", "bob"], unverifiedToo: false), [credential])
  #expect(strict.ids == proved.sorted())
  let all = try await fixture.window(.users(["ada", "bob"], unverifiedToo: true), [credential])
  #expect(all.ids == (proved + said).sorted())
  let two = try await fixture.window(.users(["ada", "bob"], unverifiedToo: true), [credential], limit: 2)
  #expect(two.ids == Array((proved + said).sorted()[..<2]))
}

private func walkToEveryone(_ fixture: StoreFixture) async throws {
  let credential = try await fixture.bindApp()[0].id
  let ids = try await fixture.register(0..<5).sorted()
  try await fixture.publish(Target(tokens: [StoreFixture.token(9)]))

  #expect(try await fixture.window(.everyone, [credential]).ids == ids)
  #expect(try await fixture.window(.everyone, [credential], after: ids[1], limit: 2).ids == Array(ids[2...3]))
}

private func mixedTargets(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let ids = try await fixture.register(0..<6, interests: ["a", "b"], user: "ada").sorted()
  let id = try await fixture.publish(
    Target(
      interests: ["a", "b", "a"], users: ["ada"],
      tokens: [StoreFixture.token(1), StoreFixture.token(2), StoreFixture.token(1)], everyone: true))

  let task = try await fixture.claimOne()
  #expect(try await fixture.walk(task) == ids)
  try await fixture.deliver(task)
  #expect(try await fixture.status(id).counts.devices == 6)
  #expect(try await fixture.receipts(id).map(\.deviceID) == ids)
}

private func namedDevices(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let ids = try await fixture.register(0..<3).sorted()
  let id = try await fixture.publish(Target(tokens: (0..<3).map(StoreFixture.token)))
  let target = try #require(try await fixture.store.notification(id)?.target)
  #expect(target.devices == ids)
  try await fixture.retire(ids[0])
  let before = try await fixture.named(ids, of: target)
  let removed = String(decoding: before.token(1), as: UTF8.self)
  _ = try await fixture.store.removeDevice(
    topic: StoreFixture.topic, environment: nil, token: DeviceToken(stored: removed))

  let window = try await fixture.named(ids, of: target)
  #expect(window.ids == [ids[0], ids[2]])
  #expect(window.isRetired == [true, false])
  #expect(try await fixture.named([], of: target).count == 0)
}

private func membership(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let readers = try await fixture.register(0..<2, interests: ["news"])
  let proved = try await fixture.register([2], user: "ada")
  let said = try await fixture.register([3], user: "ada", verified: false)
  let others = try await fixture.register([4], user: "eve")
  let ids = (readers + proved + said + others).sorted()

  func members(_ target: Target, unverified: Bool = false) async throws -> [DeviceID] {
    var publication = StoreFixture.publication(target)
    publication.reachesUnverifiedUsers = unverified
    guard case .stored(let id, _) = try await fixture.store.publish(publication),
      let packed = try await fixture.store.notification(id)?.target
    else { return [] }
    let window = try await fixture.named(ids, of: packed)
    return (0..<window.count).filter { window.isMember[$0] }.map { window.ids[$0] }
  }
  let target = Target(interests: ["news"], users: ["ada"])
  #expect(try await members(target) == (readers + proved).sorted())
  #expect(try await members(target, unverified: true) == (readers + proved + said).sorted())
  _ = try await fixture.store.setSubscription(
    topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(0), interest: "news", subscribed: false)
  try await fixture.register([2], user: "eve")
  #expect(try await members(target) == [readers[1]])
  #expect(try await members(Target(tokens: [StoreFixture.token(0)])) == [])
}

private func registeringMidWalk(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let ids = try await fixture.register(0..<10, interests: ["news"])
  try await fixture.publish(Target(interests: ["news"]))
  let task = try await fixture.claimOne()
  fixture.clocks.advance(by: .seconds(1))

  #expect(try await fixture.register(0..<10, interests: ["news"]) == ids)
  #expect(try await fixture.walk(task) == ids.sorted())
}
