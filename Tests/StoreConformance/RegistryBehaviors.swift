import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let registry = [
    StoreBehavior("Binding an app twice gives the same credentials, and notes a new key", bindingIsStable),
    StoreBehavior(
      "A binding notes a certificate in place of a key; one that names neither changes nothing", certificates),
    StoreBehavior("Registering again keeps the id and the order, and refreshes the time", registeringAgain),
    StoreBehavior("What a registration does not say stays as it is", unsaidStays),
    StoreBehavior("A phone that changes hands loses the interests of its former user", newUserClearsInterests),
    StoreBehavior("Saying the same user again without proof keeps the proof", proofStays),
    StoreBehavior("A user spelled with other bytes is another user, without the proof", spelledOtherwise),
    StoreBehavior("Registering clears the retirement", registeringRevives),
    StoreBehavior("A registration for an unknown topic stores nothing of its batch", unknownTopicRegistersNothing),
    StoreBehavior("The same token registered by many at once is one device", concurrentRegistrations),
    StoreBehavior("Environments have devices of their own", environmentsAreApart),
    StoreBehavior("Removing a device takes its subscriptions along", removal),
    StoreBehavior("Subscriptions come and go one by one", singleSubscriptions),
    StoreBehavior("A text with a NUL byte is stored whole", nulBytes),
  ]

  static let listing = [
    StoreBehavior("Devices are listed by id, in pages", listingPages),
    StoreBehavior("Every condition of a listing narrows it", listingConditions),
    StoreBehavior("Tokens that only a push named are in no list", namedTokensAreHidden),
  ]
}

private let news = ["news"]

extension StoreFixture {
  /// Registers one device with everything said by the caller.
  fileprivate func register(
    _ number: Int, user: Change<String?> = .unchanged, verified: Bool = false, language: Change<String?> = .unchanged,
    interests: Change<[String]> = .unchanged
  ) async throws -> RegistrationResult {
    let results = try await store.register([
      DeviceRegistration(
        topic: Self.topic, environment: .production, token: Self.token(number), user: user, userIsVerified: verified,
        language: language, interests: interests)
    ])
    return results[0]
  }

  /// The registered device of a token.
  fileprivate func device(_ number: Int) async throws -> Device? {
    var query = DeviceQuery()
    query.token = Self.token(number)
    return try await store.devices(query, after: DeviceID(0), limit: 2).first
  }

  fileprivate func ids(_ query: DeviceQuery, after: DeviceID = DeviceID(0), limit: Int = 100) async throws -> [DeviceID]
  {
    try await store.devices(query, after: after, limit: limit).map(\.id)
  }
}

private func bindingIsStable(_ fixture: StoreFixture) async throws {
  let first = try await fixture.bindApp(StoreFixture.topic, [.production, .sandbox])
  let again = try await fixture.store.bind([
    AppBinding(topic: StoreFixture.topic, environment: .production, teamID: "TEAM123456", keyID: "OTHERKEY01")
  ])

  #expect(first.count == 2)
  #expect(again.map(\.id) == first.map(\.id).sorted { $0.rawValue < $1.rawValue })
  #expect(again.first { $0.environment == .production }?.keyID == "OTHERKEY01")
  #expect(again.first { $0.environment == .sandbox }?.keyID == "KEY1234567")
  #expect(try await fixture.store.credentials() == again)
}

private func certificates(_ fixture: StoreFixture) async throws {
  _ = try await fixture.bindApp(StoreFixture.topic, [.production])
  func bind(_ teamID: String?, _ keyID: String?, _ certificate: [UInt8]?) async throws -> Credential? {
    try await fixture.store.bind([
      AppBinding(
        topic: StoreFixture.topic, environment: .production, teamID: teamID, keyID: keyID,
        certificateSHA256: certificate)
    ]).first
  }

  let key = try await bind(nil, nil, nil)
  let certificate = try await bind(nil, nil, [0, 1, 255])
  let still = try await bind(nil, nil, nil)
  let again = try await bind("TEAM123456", "KEY1234567", nil)

  #expect(key?.keyID == "KEY1234567" && key?.certificateSHA256 == nil)
  #expect(certificate?.teamID == nil && certificate?.keyID == nil && certificate?.certificateSHA256 == [0, 1, 255])
  #expect(still == certificate)
  #expect(again?.keyID == "KEY1234567" && again?.certificateSHA256 == nil)
}

private func registeringAgain(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  guard case .added(let id) = try await fixture.register(1) else { throw SupportError("the device was known") }
  try await fixture.register(2..<5)
  fixture.clocks.advance(by: .seconds(60))

  #expect(try await fixture.register(1) == .refreshed(id))
  let device = try #require(try await fixture.device(1))
  #expect(device.id == id && device.id.sequence == 1)
  #expect(device.registeredAt == fixture.clocks.wallTime())
}

private func unsaidStays(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.register(1, user: .set("ada"), language: .set("fr-CH"), interests: .set(["b", "a"]))
  _ = try await fixture.register(1)

  let device = try #require(try await fixture.device(1))
  #expect(device.user == "ada" && device.language == "fr-CH" && device.interests == ["a", "b"])

  _ = try await fixture.register(1, language: .set(nil), interests: .set(["c"]))
  let changed = try #require(try await fixture.device(1))
  #expect(changed.user == "ada" && changed.language == nil && changed.interests == ["c"])
}

private func newUserClearsInterests(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.register(1, interests: .set(news))
  _ = try await fixture.register(1, user: .set("ada"))
  #expect(try await fixture.device(1)?.interests == news)

  _ = try await fixture.register(1, user: .set("ada"))
  #expect(try await fixture.device(1)?.interests == news)
  _ = try await fixture.register(1, user: .set("bob"))
  #expect(try await fixture.device(1)?.user == "bob")
  #expect(try await fixture.device(1)?.interests == [])

  _ = try await fixture.register(1, user: .set("eve"), interests: .set(news))
  #expect(try await fixture.device(1)?.interests == news)
  _ = try await fixture.register(1, user: .set(nil))
  let device = try #require(try await fixture.device(1))
  #expect(device.user == nil && device.interests == [] && !device.userIsVerified)
}

private func proofStays(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.register(1, user: .set("ada"), verified: true)
  _ = try await fixture.register(1, user: .set("ada"), verified: false)
  #expect(try await fixture.device(1)?.userIsVerified == true)
  _ = try await fixture.register(1, user: .set("bob"), verified: false)
  #expect(try await fixture.device(1)?.userIsVerified == false)
}

private func spelledOtherwise(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.register(1, user: .set("\u{E9}"), verified: true, interests: .set(news))

  _ = try await fixture.register(1, user: .set("e\u{301}"), verified: false)

  let device = try #require(try await fixture.device(1))
  #expect(!device.userIsVerified && device.interests == [])
}

private func registeringRevives(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let id = try await fixture.register([1], interests: news)[0]
  let now = fixture.clocks.wallTime().value
  _ = try await fixture.store.flush(
    [], retirements: [Retirement(device: id, registeredBefore: UnixMilliseconds(now + 1), reason: ReasonID(7))],
    owner: 1, lease: StoreFixture.lease)
  let retired = try #require(try await fixture.device(1))
  #expect(retired.retiredAt?.value == now && retired.retiredReason == ReasonID(7))

  #expect(try await fixture.register(1) == .refreshed(id))
  let device = try #require(try await fixture.device(1))
  #expect(device.retiredAt == nil && device.retiredReason == nil && device.interests == news)
}

private func unknownTopicRegistersNothing(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let batch = [StoreFixture.topic, "com.example.unknown"].map {
    DeviceRegistration(topic: $0, environment: .production, token: StoreFixture.token(1))
  }

  do {
    _ = try await fixture.store.register(batch)
    Issue.record("an unknown topic was accepted")
  } catch {
    #expect(error.code == .unknownTopic)
    #expect(error.description.contains("com.example.unknown"))
  }
  #expect(try await fixture.ids(DeviceQuery()).isEmpty)
}

private func concurrentRegistrations(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let other = try await fixture.openAnother()
  let registration = DeviceRegistration(
    topic: StoreFixture.topic, environment: .production, token: StoreFixture.token(1), interests: .set(news))

  let results = try await withThrowingTaskGroup(of: RegistrationResult.self) { group in
    for index in 0..<20 {
      group.addTask { try await (index.isMultiple(of: 2) ? fixture.store : other).register([registration])[0] }
    }
    return try await group.reduce(into: []) { $0.append($1) }
  }
  await other.close()

  let added = results.filter {
    if case .added = $0 { true } else { false }
  }
  #expect(added.count == 1)
  #expect(try await fixture.ids(DeviceQuery()).count == 1)
}

private func environmentsAreApart(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp(StoreFixture.topic, [.production])
  let production = try await fixture.register([1])
  let sandbox = try await fixture.register([1], environment: .sandbox)

  #expect(production != sandbox)
  #expect(try await fixture.store.credentials().count == 2)
  #expect(
    try await fixture.store.removeDevice(
      topic: StoreFixture.topic, environment: .sandbox, token: StoreFixture.token(1)))
  #expect(try await fixture.ids(DeviceQuery()) == production)
}

private func removal(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let ids = try await fixture.register(0..<2, interests: news)
  let token = StoreFixture.token(0)

  #expect(try await fixture.store.removeDevice(topic: StoreFixture.topic, environment: nil, token: token))
  #expect(try await fixture.store.removeDevice(topic: StoreFixture.topic, environment: nil, token: token) == false)
  #expect(try await fixture.store.removeDevice(topic: "com.example.unknown", environment: nil, token: token) == false)

  try await fixture.publish(Target(interests: news))
  #expect(try await fixture.walk(try await fixture.claimOne()) == [ids[1]])
  let again = try await fixture.register([0])
  #expect(again != [ids[0]])
  #expect(try await fixture.device(0)?.interests == [])
}

private func singleSubscriptions(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register([1])
  func set(_ interest: String, _ subscribed: Bool, _ number: Int = 1) async throws -> Bool {
    try await fixture.store.setSubscription(
      topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(number), interest: interest,
      subscribed: subscribed)
  }

  #expect(try await set("b", true))
  #expect(try await set("a", true))
  #expect(try await set("a", true))
  #expect(try await fixture.device(1)?.interests == ["a", "b"])
  #expect(try await set("b", false))
  #expect(try await set("never", false))
  #expect(try await fixture.device(1)?.interests == ["a"])
  #expect(try await set("a", true, 2) == false)
}

private func nulBytes(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.register(1, user: .set("a\0b"), language: .set("\0"), interests: .set(["x\0y"]))
  let device = try #require(try await fixture.device(1))
  #expect(device.user == "a\0b" && device.language == "\0" && device.interests == ["x\0y"])

  let id = try await fixture.publish(Target(interests: ["x\0y"]))
  let task = try await fixture.claimOne()
  #expect(task.notificationID == id)
  #expect(try await fixture.walk(task) == [device.id])
}

// MARK: Listing

private func listingPages(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let ids = try await fixture.register(0..<25).sorted()
  var query = DeviceQuery()
  query.topic = StoreFixture.topic

  var listed: [DeviceID] = []
  while true {
    let page = try await fixture.ids(query, after: listed.last ?? DeviceID(0), limit: 10)
    listed += page
    if page.count < 10 { break }
  }
  #expect(listed == ids)
}

private func listingConditions(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.bindApp("com.example.other")
  let plain = try await fixture.register(0..<3)
  let readers = try await fixture.register(3..<6, interests: news, user: "ada")
  let others = try await fixture.register(6..<9, interests: news, user: "ada", topic: "com.example.other")
  let now = fixture.clocks.wallTime().value
  _ = try await fixture.store.flush(
    [],
    retirements: [Retirement(device: readers[0], registeredBefore: UnixMilliseconds(now + 1), reason: ReasonID(1))],
    owner: 1, lease: StoreFixture.lease)

  func ids(_ change: (inout DeviceQuery) -> Void) async throws -> Set<DeviceID> {
    var query = DeviceQuery()
    change(&query)
    return Set(try await fixture.ids(query))
  }
  #expect(try await ids { _ in } == Set(plain + readers + others))
  #expect(try await ids { $0.topic = "com.example.other" } == Set(others))
  #expect(try await ids { $0.interest = "news" } == Set(readers + others))
  #expect(try await ids { $0.interest = "nothing" } == [])
  #expect(try await ids { $0.user = "ada" } == Set(readers + others))
  #expect(try await ids { $0.token = StoreFixture.token(4) } == [readers[1]])
  #expect(try await ids { $0.retired = true } == [readers[0]])
  #expect(
    try await ids {
      $0.topic = StoreFixture.topic
      $0.interest = "news"
      $0.user = "ada"
      $0.retired = false
    } == Set(readers[1...]))
  #expect(
    try await ids {
      $0.token = StoreFixture.token(3)
      $0.retired = false
    } == [])
}

private func namedTokensAreHidden(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.publish(Target(tokens: [StoreFixture.token(1)]))
  let named = try await fixture.walk(try await fixture.claimOne())

  #expect(named.count == 1)
  #expect(try await fixture.ids(DeviceQuery()).isEmpty)
  #expect(
    try await fixture.store.removeDevice(
      topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(1)) == false)
  #expect(try await fixture.register([1]) == named)
  #expect(try await fixture.ids(DeviceQuery()) == named)
}
