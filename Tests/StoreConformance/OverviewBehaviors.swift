import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let overview = [
    StoreBehavior("Notifications are listed newest first, in pages", notificationPages),
    StoreBehavior("A listing by state shows that state alone", notificationStates),
    StoreBehavior("A listing for an app shows its topics and no other's", notificationTopics),
    StoreBehavior("Retired devices are fed in the order of their retirement, each once", retirementFeed),
    StoreBehavior("Subscribers are counted without retired devices, in the apps asked for", subscriberCounts),
    StoreBehavior("Removing a user removes their devices in the apps asked for, with subscriptions", userRemoval),
    StoreBehavior("The backlog tells since when the oldest due work of a lane waits", backlogs),
  ]

  static let keys = [
    StoreBehavior("An API key is stored with what it may do, under an id that no other gets", keyStorage),
    StoreBehavior("A revoked API key stays listed, with the time of its first revocation", keyRevocation),
    StoreBehavior("The last use of an API key is noted", keyUse),
  ]
}

private func notificationPages(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  var ids: [NotificationID] = []
  for _ in 0..<5 {
    ids.append(try await fixture.publish(Target(interests: ["news"])))
    fixture.clocks.advance(by: .milliseconds(1))
  }

  let first = try await fixture.store.notifications(NotificationQuery(), before: nil, limit: 2)
  let second = try await fixture.store.notifications(NotificationQuery(), before: first.next, limit: 2)
  let third = try await fixture.store.notifications(NotificationQuery(), before: second.next, limit: 2)

  #expect([first, second, third].flatMap(\.notifications).map(\.id) == ids.reversed())
  #expect(third.next == nil && third.notifications.count == 1)
  #expect(first.notifications[0].topic == StoreFixture.topic && first.notifications[0].state == .queued)
}

private func notificationStates(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register(0..<1, interests: ["news"])
  let done = try await fixture.publish(Target(interests: ["news"]))
  try await fixture.deliver(fixture.claimOne())
  let canceled = try await fixture.publish(Target(interests: ["news"]))
  _ = try await fixture.store.cancel(canceled)
  let queued = try await fixture.publish(Target(interests: ["news"]))
  let soon = UnixMilliseconds(fixture.clocks.wallTime().value + 60_000)
  let scheduled = try await fixture.publish(Target(interests: ["news"]), sendAt: soon)

  for (state, id) in [
    (NotificationState.done, done), (.canceled, canceled), (.queued, queued), (.scheduled, scheduled),
  ] {
    let page = try await fixture.store.notifications(NotificationQuery(state: state), before: nil, limit: 10)
    #expect(page.notifications.map(\.id) == [id], "\(state)")
  }
  let parked = try await fixture.store.notifications(NotificationQuery(state: .parked), before: nil, limit: 10)
  #expect(parked == NotificationPage(notifications: [], next: nil))
}

private func notificationTopics(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.bindApp("com.example.app.voip")
  try await fixture.bindApp("com.example.apple")
  let own = try await fixture.publish(Target(everyone: true))
  let voip = try await fixture.publish(Target(everyone: true), topic: "com.example.app.voip")
  try await fixture.publish(Target(everyone: true), topic: "com.example.apple")

  let page = try await fixture.store.notifications(
    NotificationQuery(topics: [StoreFixture.topic]), before: nil, limit: 10)

  #expect(page.notifications.map(\.id) == [voip, own])
}

private func retirementFeed(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.bindApp("com.example.other")
  let devices = try await fixture.register(0..<5, interests: ["news"])
  let foreign = try await fixture.register([9], topic: "com.example.other")
  fixture.clocks.advance(by: .seconds(1))
  _ = try await fixture.publish(Target(interests: ["news"]))
  let task = try await fixture.claimOne()
  let beginning = fixture.clocks.wallTime()
  // Two at a time retire together; the last stays.
  for pair in [[devices[3], devices[1]], [devices[4], devices[0]], [foreign[0]]] {
    let retirements = pair.map {
      Retirement(device: $0, registeredBefore: fixture.clocks.wallTime(), reason: ReasonID(5))
    }
    try await fixture.flush(.news(of: task, cursor: task.cursor), retiring: retirements)
    fixture.clocks.advance(by: .seconds(1))
  }

  var fed: [Device] = []
  var place = RetirementPlace(at: UnixMilliseconds(0), device: DeviceID(0))
  while true {
    let page = try await fixture.store.retiredDevices(topics: [StoreFixture.topic], after: place, limit: 1)
    guard let last = page.last, let at = last.retiredAt else { break }
    fed += page
    place = RetirementPlace(at: at, device: last.id)
  }
  #expect(fed.map(\.id) == [devices[3], devices[1]].sorted() + [devices[4], devices[0]].sorted())
  #expect(fed[0].retiredReason == ReasonID(5) && fed[0].retiredAt == beginning)
  let since = RetirementPlace(at: UnixMilliseconds(beginning.value + 1000), device: DeviceID(0))
  let later = try await fixture.store.retiredDevices(topics: nil, after: since, limit: 10)
  #expect(later.map(\.id) == [devices[4], devices[0]].sorted() + foreign)
}

private func subscriberCounts(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.bindApp("com.example.other")
  let devices = try await fixture.register(0..<3, interests: ["news"])
  try await fixture.register(5..<7, interests: ["news"], topic: "com.example.other")
  fixture.clocks.advance(by: .seconds(1))
  _ = try await fixture.publish(Target(tokens: [StoreFixture.token(0)]))
  let task = try await fixture.claimOne()
  let retirement = Retirement(device: devices[0], registeredBefore: fixture.clocks.wallTime(), reason: ReasonID(5))
  try await fixture.flush(.news(of: task), retiring: [retirement])

  #expect(try await fixture.store.subscriberCount(of: "news", topics: nil) == 4)
  #expect(try await fixture.store.subscriberCount(of: "news", topics: [StoreFixture.topic]) == 2)
  #expect(try await fixture.store.subscriberCount(of: "nothing", topics: nil) == 0)
}

private func userRemoval(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.bindApp("com.example.other")
  try await fixture.register(0..<3, interests: ["news"], user: "ada")
  try await fixture.register([3], interests: ["news"], user: "bob")
  try await fixture.register([5], user: "ada", topic: "com.example.other")

  #expect(try await fixture.store.removeUser("ada", topics: [StoreFixture.topic]) == 3)
  #expect(try await fixture.store.subscriberCount(of: "news", topics: nil) == 1)
  #expect(try await fixture.store.removeUser("ada", topics: nil) == 1)
  #expect(try await fixture.store.removeUser("ada", topics: nil) == 0)
  let left = try await fixture.store.devices(DeviceQuery(), after: DeviceID(0), limit: 10)
  #expect(left.map(\.user) == ["bob"])
}

private func backlogs(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let began = fixture.clocks.wallTime()
  try await fixture.publish(Target(interests: ["news"]), lane: .bulk)
  try await fixture.publish(
    Target(interests: ["news"]), lane: .urgent, sendAt: UnixMilliseconds(began.value + 60_000))
  fixture.clocks.advance(by: .seconds(5))
  try await fixture.publish(Target(interests: ["news"]), lane: .bulk)

  let rows = try await fixture.store.backlog()

  #expect(
    rows == [
      LaneBacklog(lane: .urgent, oldestDueAt: nil), LaneBacklog(lane: .normal, oldestDueAt: nil),
      LaneBacklog(lane: .bulk, oldestDueAt: began),
    ])
}

private func keyStorage(_ fixture: StoreFixture) async throws {
  let store = fixture.store
  let first = try await store.addAPIKey(name: "one", secretSHA256: [1, 2], topics: nil, actions: nil)
  let second = try await store.addAPIKey(name: "one", secretSHA256: [3], topics: ["a.b"], actions: [.send, .read])
  let none = try await store.addAPIKey(name: "none", secretSHA256: [4], topics: [], actions: [])

  let again = try await fixture.openAnother()
  #expect(try await again.apiKeys() == [first, second, none])
  #expect(try await again.apiKey(second.id) == second)
  await again.close()
  #expect(Set([first.id, second.id, none.id]).count == 3 && first.createdAt == fixture.clocks.wallTime())
  #expect(second.topics == ["a.b"] && second.actions == [.send, .read] && none.topics == [])
  #expect(try await store.apiKey(APIKeyID(99)) == nil)
}

private func keyRevocation(_ fixture: StoreFixture) async throws {
  let key = try await fixture.store.addAPIKey(name: "one", secretSHA256: [1], topics: nil, actions: nil)
  let time = fixture.clocks.wallTime()

  #expect(try await fixture.store.revokeAPIKey(key.id))
  fixture.clocks.advance(by: .seconds(60))
  #expect(try await fixture.store.revokeAPIKey(key.id))

  let revoked = try await fixture.store.apiKeys().map(\.revokedAt)
  #expect(revoked == [time])
  #expect(try await fixture.store.revokeAPIKey(APIKeyID(99)) == false)
}

private func keyUse(_ fixture: StoreFixture) async throws {
  let key = try await fixture.store.addAPIKey(name: "one", secretSHA256: [1], topics: nil, actions: nil)
  fixture.clocks.advance(by: .seconds(60))

  try await fixture.store.noteUse(of: key.id)

  #expect(key.lastUsedAt == nil)
  #expect(try await fixture.store.apiKey(key.id)?.lastUsedAt == fixture.clocks.wallTime())
}
