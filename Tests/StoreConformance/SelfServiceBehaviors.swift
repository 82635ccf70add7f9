import Operations
import PushCore
import Support
import Testing

extension StoreBehavior {
  static let selfService = [
    StoreBehavior("A Beams device registered again keeps its id and its interests", beamsIdentity),
    StoreBehavior("A protected interest that an app asks for receives nothing until it is granted", pendingInterests),
    StoreBehavior("A user token grants the user's own interest, before or after it is asked for", ownInterests),
    StoreBehavior(
      "The first user with a slug owns its interest; another one with the same slug gets nothing", slugTwins),
    StoreBehavior("A device that changes hands loses granted and asked-for interests", changingHands),
    StoreBehavior("A proved user is not replaced by another token; one that was only said is", userBindings),
    StoreBehavior("A user has at most a hundred devices, and a device five thousand interests", selfServiceLimits),
    StoreBehavior("Replacing interests keeps what was granted and drops what is not named", replacingInterests),
    StoreBehavior("A device moves to its other environment with user and interests, or stays there", otherEnvironments),
    StoreBehavior("A removed Beams device is gone with everything that names it", beamsRemoval),
    StoreBehavior("Users that apps register keep their last name, until they are removed", appUsers),
    StoreBehavior(
      "A publish for several topics is one notification each, and takes marks of its own devices alone", marks),
  ]
}

private let instance = "00000000-0000-4000-8000-00000000beef"

extension StoreFixture {
  fileprivate func beams(_ number: Int, environment: Environment = .production) async throws -> BeamsDevice {
    try await store.register(
      BeamsDeviceID(instance: instance, id: "apns-\(number)"),
      device: DeviceRegistration(
        topic: Self.topic, environment: environment, token: Self.token(number), otherEnvironment: .staysThere),
      metadata: Array(#"{"sdkVersion":"\#(number)"}"#.utf8))
  }

  fileprivate func id(_ number: Int) -> BeamsDeviceID { BeamsDeviceID(instance: instance, id: "apns-\(number)") }

  fileprivate func ask(_ number: Int, _ protected: String...) async throws -> InterestChangeResult {
    try await store.change(.add(AskedInterests(open: [], protected: protected)), of: id(number))
  }

  /// The tokens of the devices that a push to an interest would reach.
  fileprivate func reached(by interest: String) async throws -> [DeviceToken] {
    var query = DeviceQuery()
    query.interest = interest
    let listed = try await store.devices(query, after: DeviceID(0), limit: 100)
    let task = try await { () async throws in
      try await publish(Target(interests: [interest]))
      return try await claimOne()
    }()
    let walked = try await walk(task)
    try await flush(.news(of: task, accepted: walked, ends: true))
    #expect(walked == listed.map(\.id))
    return listed.map(\.token)
  }
}

private func beamsIdentity(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let first = try await fixture.beams(1)
  _ = try await fixture.store.change(.add(AskedInterests(open: ["news"], protected: ["auth-x"])), of: fixture.id(1))

  let again = try await fixture.store.register(
    BeamsDeviceID(instance: instance, id: "apns-other"),
    device: DeviceRegistration(
      topic: StoreFixture.topic, environment: .production, token: StoreFixture.token(1)), metadata: nil)

  #expect(first == BeamsDevice(id: "apns-1", user: nil, metadata: Array(#"{"sdkVersion":"1"}"#.utf8), interests: []))
  #expect(again.id == "apns-1" && again.interests == ["auth-x", "news"] && again.metadata == first.metadata)
  #expect(try await fixture.store.setMetadata(Array("{}".utf8), of: fixture.id(1)))
  #expect(try await fixture.store.beamsDevice(fixture.id(1))?.metadata == Array("{}".utf8))
  #expect(try await !fixture.store.setMetadata([], of: fixture.id(2)))
  let elsewhere = BeamsDeviceID(instance: "11111111-0000-4000-8000-00000000beef", id: "apns-1")
  #expect(try await fixture.store.beamsDevice(elsewhere) == nil)
  #expect(try await fixture.store.change(.remove("news"), of: elsewhere) == .noDevice)
}

private func pendingInterests(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.beams(1)
  _ = try await fixture.beams(2)
  #expect(try await fixture.ask(1, "auth-jane") == .done)
  #expect(try await fixture.ask(2, "auth-jane") == .done)
  #expect(try await fixture.reached(by: "auth-jane").isEmpty)

  #expect(
    try await fixture.store.setSubscription(
      topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(1), interest: "auth-jane", subscribed: true
    ))
  #expect(try await fixture.reached(by: "auth-jane") == [StoreFixture.token(1)])
  #expect(try await fixture.store.beamsDevice(fixture.id(1))?.interests == ["auth-jane"])

  #expect(try await fixture.store.change(.remove("auth-jane"), of: fixture.id(1)) == .done)
  #expect(try await fixture.ask(1, "auth-jane") == .done)
  #expect(try await fixture.reached(by: "auth-jane").isEmpty)
}

private func ownInterests(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  for number in 1...3 { _ = try await fixture.beams(number) }
  _ = try await fixture.ask(1, "auth-jane-at-xy", "auth-john-at-xy")

  #expect(try await fixture.store.bind(fixture.id(1), to: "jane@x.y") == .bound)
  #expect(try await fixture.store.bind(fixture.id(2), to: "jane@x.y") == .bound)
  _ = try await fixture.ask(2, "auth-jane-at-xy", "auth-john-at-xy")
  _ = try await fixture.ask(3, "auth-jane-at-xy")

  #expect(Set(try await fixture.reached(by: "auth-jane-at-xy")) == Set([1, 2].map(StoreFixture.token)))
  #expect(try await fixture.reached(by: "auth-john-at-xy").isEmpty)
}

private func slugTwins(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  for number in 1...3 { _ = try await fixture.beams(number) }
  _ = try await fixture.ask(2, "auth-jane-at-xy")
  #expect(try await fixture.store.bind(fixture.id(1), to: "jane@x.y") == .bound)
  #expect(try await fixture.store.bind(fixture.id(2), to: "j.a.n.e@x.y") == .bound)
  #expect(try await fixture.store.bind(fixture.id(3), to: "jane@xy") == .bound)
  _ = try await fixture.ask(1, "auth-jane-at-xy")
  _ = try await fixture.ask(3, "auth-jane-at-xy")

  #expect(try await fixture.reached(by: "auth-jane-at-xy") == [StoreFixture.token(1)])

  _ = try await fixture.store.removeUser("jane@x.y", topics: nil)
  #expect(try await fixture.store.bind(fixture.id(3), to: "jane@xy") == .bound)
  #expect(try await fixture.reached(by: "auth-jane-at-xy") == [StoreFixture.token(3)])
}

private func changingHands(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  for number in 1...2 {
    _ = try await fixture.beams(number)
    _ = try await fixture.ask(number, "auth-jane-at-xy", "auth-other")
    #expect(try await fixture.store.bind(fixture.id(number), to: "jane@x.y") == .bound)
  }
  func said(_ number: Int, _ user: String?) -> DeviceRegistration {
    DeviceRegistration(
      topic: StoreFixture.topic, environment: .production, token: StoreFixture.token(number), user: .set(user))
  }
  #expect(try await fixture.store.register(AppUser(id: "mallory", name: "M"), device: said(1, "mallory")))
  _ = try await fixture.store.register([said(2, nil)])

  #expect(try await fixture.reached(by: "auth-jane-at-xy").isEmpty)
  for number in 1...2 { #expect(try await fixture.store.beamsDevice(fixture.id(number))?.interests == []) }
  // Back in her hands, it has to ask again.
  #expect(try await fixture.store.bind(fixture.id(2), to: "jane@x.y") == .bound)
  #expect(try await fixture.reached(by: "auth-jane-at-xy").isEmpty)
}

private func userBindings(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.beams(1)
  let said = DeviceRegistration(
    topic: StoreFixture.topic, environment: .production, token: StoreFixture.token(1), user: .set("mallory"))
  _ = try await fixture.store.register([said])
  _ = try await fixture.store.change(.add(AskedInterests(open: ["news"], protected: [])), of: fixture.id(1))

  #expect(try await fixture.store.bind(fixture.id(1), to: "jane") == .bound)
  #expect(try await fixture.store.beamsDevice(fixture.id(1))?.interests == [])
  #expect(try await fixture.store.bind(fixture.id(1), to: "jane") == .bound)
  #expect(try await fixture.store.bind(fixture.id(1), to: "mallory") == .otherUser)
  #expect(try await fixture.store.bind(fixture.id(2), to: "jane") == .noDevice)
  #expect(try await fixture.store.beamsDevice(fixture.id(1))?.user == "jane")
}

private func selfServiceLimits(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.register(1000..<1100, user: "jane")
  _ = try await fixture.beams(1)
  #expect(try await fixture.store.bind(fixture.id(1), to: "jane") == .tooManyDevices)
  #expect(try await fixture.store.beamsDevice(fixture.id(1))?.user == nil)

  let all = AskedInterests(open: (0..<5000).map { "i\($0)" }, protected: [])
  #expect(try await fixture.store.change(.replace(all), of: fixture.id(1)) == .done)
  #expect(try await fixture.ask(1, "auth-one-more") == .tooMany)
  #expect(try await fixture.ask(1, "i7") == .done)
  let more = AskedInterests(open: all.open, protected: ["auth-x"])
  #expect(try await fixture.store.change(.replace(more), of: fixture.id(1)) == .tooMany)
  #expect(try await fixture.store.beamsDevice(fixture.id(1))?.interests.count == 5000)
}

private func replacingInterests(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.beams(1)
  _ = try await fixture.store.change(.add(AskedInterests(open: ["a", "b"], protected: ["auth-x"])), of: fixture.id(1))
  _ = try await fixture.store.setSubscription(
    topic: StoreFixture.topic, environment: nil, token: StoreFixture.token(1), interest: "auth-x", subscribed: true)

  let kept = AskedInterests(open: ["b", "c"], protected: ["auth-x", "auth-y"])
  #expect(try await fixture.store.change(.replace(kept), of: fixture.id(1)) == .done)
  #expect(try await fixture.store.beamsDevice(fixture.id(1))?.interests == ["auth-x", "auth-y", "b", "c"])
  for (name, count) in [("a", 0), ("b", 1), ("c", 1), ("auth-x", 1), ("auth-y", 0)] {
    #expect(try await fixture.reached(by: name).count == count, "\(name)")
  }
  #expect(try await fixture.store.change(.replace(AskedInterests(open: [], protected: [])), of: fixture.id(1)) == .done)
  #expect(try await fixture.reached(by: "auth-x").isEmpty)
  #expect(try await fixture.store.beamsDevice(fixture.id(1))?.interests == [])
}

private func otherEnvironments(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp(StoreFixture.topic, [.production, .sandbox])
  try await fixture.register([1], interests: ["news"], user: "jane", environment: .sandbox)
  func register(_ environment: Environment, _ other: OtherEnvironment) async throws -> [Device] {
    _ = try await fixture.store.register([
      DeviceRegistration(
        topic: StoreFixture.topic, environment: environment, token: StoreFixture.token(1), otherEnvironment: other)
    ])
    return try await fixture.store.devices(DeviceQuery(), after: DeviceID(0), limit: 10)
  }

  let stayed = try await register(.production, .staysThere)
  let moved = try await register(.production, .movesHere)
  let apart = try await register(.sandbox, .isApart)
  let joined = try await register(.sandbox, .movesHere)

  #expect(stayed.map(\.environment) == [.sandbox])
  #expect(moved.map(\.environment) == [.production] && moved[0].id == stayed[0].id)
  #expect(moved[0].user == "jane" && moved[0].interests == ["news"])
  #expect(Set(apart.map(\.environment)) == [.production, .sandbox])
  #expect(joined.map(\.environment) == [.sandbox])
}

private func beamsRemoval(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  _ = try await fixture.beams(1)
  _ = try await fixture.store.change(.add(AskedInterests(open: ["news"], protected: ["auth-x"])), of: fixture.id(1))

  #expect(try await fixture.store.removeBeamsDevice(fixture.id(1)))
  #expect(try await !fixture.store.removeBeamsDevice(fixture.id(1)))
  #expect(try await fixture.store.beamsDevice(fixture.id(1)) == nil)
  #expect(try await fixture.beams(1).interests == [])
}

private func appUsers(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  let device = DeviceRegistration(
    topic: StoreFixture.topic, environment: .production, token: StoreFixture.token(1), user: .set("ü/1"))

  #expect(try await fixture.store.register(AppUser(id: "ü/1", name: "A"), device: device))
  #expect(try await !fixture.store.register(AppUser(id: "ü/1", name: "B"), device: device))
  #expect(try await fixture.store.appUser("ü/1") == AppUser(id: "ü/1", name: "B"))
  #expect(try await fixture.store.removeUser("ü/1", topics: nil) == 1)
  #expect(try await fixture.store.appUser("ü/1") == nil)
  var unknown = device
  unknown.topic = "com.example.unknown"
  await #expect(throws: StoreError.self) {
    _ = try await fixture.store.register(AppUser(id: "new", name: "N"), device: unknown)
  }
  #expect(try await fixture.store.appUser("new") == nil)
}

private func marks(_ fixture: StoreFixture) async throws {
  try await fixture.bindApp()
  try await fixture.bindApp("com.example.other")
  for number in 1...3 { _ = try await fixture.beams(number) }
  for number in 1...2 {
    _ = try await fixture.store.change(.add(AskedInterests(open: ["news"], protected: [])), of: fixture.id(number))
  }
  let target = Target(interests: ["news"])
  let ids = try await fixture.store.publish(
    [StoreFixture.publication(target), StoreFixture.publication(target, topic: "com.example.other")],
    publishID: "pubid-1", instance: instance, webhook: nil)
  for task in try await fixture.claim() { try await fixture.deliver(task) }
  #expect(ids.count == 2)

  let store = fixture.store
  try await store.mark(.opened, at: UnixMilliseconds(70), publishID: "pubid-1", by: fixture.id(1))
  try await store.mark(.delivered, at: UnixMilliseconds(60), publishID: "pubid-1", by: fixture.id(1))
  try await store.mark(.delivered, at: UnixMilliseconds(99), publishID: "pubid-1", by: fixture.id(1))
  try await store.mark(.delivered, at: UnixMilliseconds(99), publishID: "pubid-2", by: fixture.id(2))
  try await store.mark(.delivered, at: UnixMilliseconds(99), publishID: "pubid-1", by: fixture.id(9))

  let receipts = try await fixture.receipts(ids[0]).sorted { $0.deviceID.sequence < $1.deviceID.sequence }
  #expect(receipts.map(\.deliveredAt) == [UnixMilliseconds(60), nil])
  #expect(receipts.map(\.openedAt) == [UnixMilliseconds(70), nil])
  #expect(try await fixture.receipts(ids[1]).isEmpty)
  await #expect(throws: StoreError.self) {
    _ = try await store.publish(
      [StoreFixture.publication(target), StoreFixture.publication(target, topic: "com.example.unknown")],
      publishID: "pubid-3", instance: instance, webhook: nil)
  }
  #expect(try await store.notifications(NotificationQuery(), before: nil, limit: 10).notifications.count == 2)
}
