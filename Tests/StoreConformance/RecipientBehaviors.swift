import Operations
import PushCore
import Testing

extension StoreBehavior {
  static let recipients = [
    StoreBehavior("The values of recipients come back in the target's order", valuesComeBack),
    StoreBehavior("Recipients are one task, and their values are erased with the payload", valuesAreErased),
    StoreBehavior(
      "Each device is told whose values it takes: its own, its user's, the first interest's", entriesChosen),
    StoreBehavior("Who is no longer named takes nobody's values", entriesLost),
    StoreBehavior("Users bound without proof take values only where they are reached", entriesUnproved),
  ]
}

extension StoreFixture {
  /// Publishes to recipients whose value is their name; tokens by their numbers.
  fileprivate func publishTo(
    interests: [String] = [], users: [String] = [], tokens: [Int] = [], unverified: Bool = false
  ) async throws -> StoredNotification {
    var publication = Self.publication(
      Target(interests: interests, users: users, tokens: tokens.map(Self.token)))
    publication.payload = Array(#"{"aps":{"alert":"{{name}}"}}"#.utf8)
    publication.reachesUnverifiedUsers = unverified
    var values = RecipientValues(names: ["name"])
    values.interests = interests.map { [Array($0.utf8)] }
    values.users = users.map { [Array($0.utf8)] }
    values.tokens = tokens.map { [Array("\($0)".utf8)] }
    publication.recipientValues = values
    guard case .stored(let id, _) = try await store.publish(publication) else {
      throw StoreError.unreadable("what was published")
    }
    return try #require(try await store.notification(id))
  }

  /// The value that each device takes; nil = nobody's.
  fileprivate func taken(_ devices: [DeviceID], of notification: StoredNotification) async throws -> [String?] {
    let substitutions = try #require(notification.substitutions)
    let order = RecipientOrder(notification.target, substitutions)
    let ids = devices.sorted()
    let answers = try await store.entries([RecipientRead([], order), RecipientRead(ids, order)])
    #expect(answers.count == 2 && answers[0].isEmpty && answers[1].count == ids.count)
    return devices.map { device in
      ids.firstIndex(of: device).flatMap { answers[1][$0] }.map {
        String(decoding: substitutions.entries[$0][0], as: UTF8.self)
      }
    }
  }
}

private func valuesComeBack(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  // Their ids ascend in another order than the sender's.
  let devices = try await fixture.register([5, 3], interests: ["chess", "news"])
  let notification = try await fixture.publishTo(
    interests: ["news", "golf", "chess"], users: ["zoe", "ada", "e\u{301}", "é"], tokens: [3, 9, 5])
  let substitutions = try #require(notification.substitutions)

  #expect(substitutions.names == ["name"] && notification.target.hasValues)
  let target = notification.target
  #expect(substitutions.entries.count == target.interests.count + target.users.count + target.devices.count)
  let values = substitutions.entries.map { String(decoding: $0[0], as: UTF8.self) }
  #expect(values[3..<7].map { Array($0.utf8) } == target.users.map { Array($0.utf8) })
  for (number, device) in zip([5, 3], devices) {
    let place = try #require(target.devices.firstIndex(of: device))
    #expect(values[7 + place] == "\(number)")
  }
  let order = RecipientOrder(target, substitutions)
  #expect(
    order.interests.compactMap { target.interests.firstIndex(of: $0) }.map { values[$0] } == ["news", "golf", "chess"])
  let plain = try await fixture.publish(Target(users: ["ada"]))
  let stored = try #require(try await fixture.store.notification(plain))
  #expect(stored.substitutions == nil && !stored.target.hasValues)
}

private func valuesAreErased(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register([1], user: "ada")
  let notification = try await fixture.publishTo(users: ["ada", "eve"], tokens: [1, 2])
  let task = try await fixture.claimOne()
  #expect(task.notificationID == notification.id && task.list == nil)
  try await fixture.deliver(task)
  fixture.clocks.advance(by: .seconds(10))

  while try await fixture.store.removeOld(payloadsAfter: .seconds(1), receiptsAfter: .seconds(86_400)) {}

  let erased = try #require(try await fixture.store.notification(notification.id))
  #expect(erased.payload == nil && erased.substitutions == nil)
}

private func entriesChosen(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let ids =
    try await fixture.register([1], interests: ["chess", "news"], user: "ada")
    + fixture.register([2], interests: ["chess", "news"], user: "ada")
    + fixture.register([3], interests: ["chess", "news"], user: "zoe")
    + fixture.register([4], interests: ["chess"]) + fixture.register([5], interests: ["golf"], user: "eve")
    + fixture.register([6], user: "é")
  let notification = try await fixture.publishTo(
    interests: ["news", "chess"], users: ["zed", "ada", "e\u{301}", "é"], tokens: [1])

  #expect(try await fixture.taken(ids, of: notification) == ["1", "ada", "news", "chess", nil, "é"])
  #expect(try await fixture.taken([ids[5]], of: notification)[0]?.utf8.count == 2)
}

private func entriesLost(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let ids =
    try await fixture.register([1], interests: ["news"], user: "ada") + fixture.register([2], user: "ada")
    + fixture.register([3], interests: ["news"])
  let notification = try await fixture.publishTo(interests: ["news"], users: ["ada", "eve"])
  #expect(try await fixture.taken(ids, of: notification) == ["ada", "ada", "news"])

  try await fixture.register([1], interests: ["news"], user: "zoe")
  try await fixture.register([2], user: "eve")
  try await fixture.register([3])
  #expect(try await fixture.taken(ids, of: notification) == ["news", "eve", nil])

  _ = try await fixture.store.removeDevice(
    topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(2))
  #expect(try await fixture.taken(ids, of: notification) == ["news", nil, nil])
}

private func entriesUnproved(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let ids = try await fixture.register([1], interests: ["news"], user: "ada", verified: false)

  let strict = try await fixture.publishTo(interests: ["news"], users: ["ada"])
  #expect(try await fixture.taken(ids, of: strict) == ["news"])
  let open = try await fixture.publishTo(interests: ["news"], users: ["ada"], unverified: true)
  #expect(try await fixture.taken(ids, of: open) == ["ada"])
}
