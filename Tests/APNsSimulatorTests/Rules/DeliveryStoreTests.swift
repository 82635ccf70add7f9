import Operations
import Testing

@testable import APNsSimulator

@Suite("What becomes of accepted pushes")
struct DeliveryStoreTests {
  static let now = SimulatorFixture.time()

  static func push(_ id: String, expiration: Int64? = nil, topic: String = "com.example.app") -> AcceptedPush {
    AcceptedPush(
      environment: .development, deviceToken: "0a", topic: topic, messageID: id, expiration: expiration,
      acceptedAt: now)
  }

  func story(_ store: DeliveryStore) -> [String] { store.log.map { "\($0.push.messageID) \($0.state.rawValue)" } }

  @Test("a device that is online has its push at once, unless its time is over")
  func online() {
    var store = DeliveryStore()
    store.accept(Self.push("1"), isOffline: false, now: Self.now)
    store.accept(Self.push("2", expiration: 0), isOffline: false, now: Self.now)
    store.accept(Self.push("3", expiration: Self.now.seconds), isOffline: false, now: Self.now)

    #expect(story(store) == ["1 delivered", "2 delivered", "3 expired"])
  }

  @Test("for a device that is offline the newest push of each topic is stored, and none with apns-expiration 0")
  func offline() {
    var store = DeliveryStore()
    for push in [
      Self.push("1"), Self.push("2", topic: "com.example.app.voip"), Self.push("3"), Self.push("4", expiration: 0),
    ] {
      store.accept(push, isOffline: true, now: Self.now)
    }
    store.comesOnline("0b", now: Self.now)
    #expect(story(store) == ["1 stored", "2 stored", "1 replaced", "3 stored", "4 discarded"])

    store.comesOnline("0a", now: Self.now)
    store.comesOnline("0a", now: Self.now)

    #expect(Set(story(store).dropFirst(5)) == ["2 delivered", "3 delivered"])
    #expect(store.log.count == 7)
  }

  @Test(
    "what is stored expires at its apns-expiration, and after 30 days",
    arguments: [
      (60, 60, "expired"), (60, 59, "delivered"), (nil, 2_592_000, "delivered"), (nil, 2_592_001, "expired"),
    ])
  func expiry(life: Int64?, after seconds: Int, state: String) {
    var store = DeliveryStore()
    store.accept(Self.push("1", expiration: life.map { Self.now.seconds + $0 }), isOffline: true, now: Self.now)

    store.comesOnline("0a", now: SimulatorFixture.time(Int64(seconds)))

    #expect(story(store) == ["1 stored", "1 \(state)"])
  }

  @Test("the log forgets its oldest half when it is full")
  func bounded() {
    var store = DeliveryStore()
    for number in 0...DeliveryStore.logLimit { store.accept(Self.push("\(number)"), isOffline: false, now: Self.now) }

    #expect(store.log.count == DeliveryStore.logLimit / 2 + 1)
    #expect(store.log.last?.push.messageID == "\(DeliveryStore.logLimit)")
  }
}
