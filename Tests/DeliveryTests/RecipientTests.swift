import Delivery
import Operations
import PushCore
import Support
import Testing

@Suite("Recipients with values of their own", .onEveryStore, .timeLimit(.minutes(2)))
struct RecipientTests {
  private static let payload = #"{"aps":{"alert":"{{name}}"}}"#

  /// Values for each recipient of a target: its own name.
  private func publish(
    _ bench: WorkerBench, interests: [String] = [], users: [String] = [], tokens: [DeviceToken] = []
  ) async throws -> NotificationID {
    var values = RecipientValues(names: ["name"])
    values.interests = interests.map { [Array($0.utf8)] }
    values.users = users.map { [Array($0.utf8)] }
    values.tokens = tokens.map { [Array("T\($0.text.suffix(1))".utf8)] }
    return try await bench.publish(
      Target(interests: interests, users: users, tokens: tokens), payload: Self.payload, values: values)
  }

  private func register(
    _ bench: WorkerBench, _ number: Int, user: String? = nil, interests: [String] = []
  ) async throws -> DeviceToken {
    let token = DeviceToken(stored: String(repeating: "0", count: 62) + "a\(number)")
    _ = try await bench.store.register([
      DeviceRegistration(
        topic: WorkerBench.topic, environment: .production, token: token, user: .set(user), userIsVerified: true,
        interests: .set(interests))
    ])
    return token
  }

  /// The texts that each device was sent, in order.
  private func texts(_ bench: WorkerBench) -> [String: [String]] {
    Dictionary(
      bench.sender.sent.map { sent in
        (String(sent.token.suffix(1)), [String(sent.payload.dropFirst(17).dropLast(3))])
      }, uniquingKeysWith: +)
  }

  @Test("a device that several entries name takes its own values, else its user's, else those of the first interest")
  func precedence() async throws {
    try await WorkerBench.run { bench in
      // The later an interest is known, the greater its id: the sender's order is another.
      let one = try await register(bench, 1, user: "ada", interests: ["chess", "news"])
      _ = try await register(bench, 2, user: "ada", interests: ["news"])
      _ = try await register(bench, 3, user: "eve", interests: ["chess", "news"])
      _ = try await register(bench, 4, interests: ["chess"])
      _ = try await register(bench, 5, interests: ["golf"])
      let stranger = DeviceToken(stored: String(repeating: "0", count: 63) + "6")

      let id = try await publish(bench, interests: ["news", "chess"], users: ["bob", "ada"], tokens: [stranger, one])
      let status = try await bench.final(id)

      #expect(status.counts.accepted == 5 && status.counts.devices == 5)
      #expect(texts(bench) == ["1": ["T1"], "2": ["ada"], "3": ["news"], "4": ["chess"], "6": ["T6"]])
    }
  }

  @Test("a retry keeps the values, and takes those of whom the phone belongs to by then; who has left is skipped")
  func retries() async throws {
    let sender = ScriptedSender { _ in .retry(.known(ReasonID(42)), notBefore: nil) }
    try await WorkerBench.run(sender) { bench in
      _ = try await register(bench, 1, interests: ["news"])
      _ = try await register(bench, 2, user: "ada")
      _ = try await register(bench, 3, user: "ada")
      _ = try await register(bench, 4, interests: ["news"])
      let id = try await publish(bench, interests: ["news"], users: ["ada", "eve"])
      try await bench.until("each was tried") { sender.sent.count >= 4 }
      sender.script { _ in .accepted }

      _ = try await register(bench, 3, user: "eve")
      _ = try await register(bench, 4)
      let status = try await bench.final(id, step: .milliseconds(500))

      #expect(texts(bench) == ["1": ["news", "news"], "2": ["ada", "ada"], "3": ["ada", "eve"], "4": ["news"]])
      #expect(status.counts.accepted == 3 && status.counts.skipped == 1)
      #expect(try await bench.receipts(id).first { $0.outcome == .skipped }?.reason == .noLongerTargeted)
    }
  }

  @Test("a thousand users with a device each get a text each, from one task")
  func thousand() async throws {
    try await WorkerBench.run { bench in
      let users = (0..<1000).map { "u\($0)" }
      _ = try await bench.store.register(
        users.map {
          DeviceRegistration(
            topic: WorkerBench.topic, environment: .production, token: DeviceToken(stored: Self.token(of: $0)),
            user: .set($0), userIsVerified: true)
        })
      let id = try await publish(bench, users: users)

      let status = try await bench.final(id)

      #expect(status.counts.accepted == 1000)
      #expect(bench.store.calls("entries") <= 2)
      #expect(
        Dictionary(uniqueKeysWithValues: bench.sender.sent.map { ($0.token, $0.payload) })
          == Dictionary(uniqueKeysWithValues: users.map { (Self.token(of: $0), #"{"aps":{"alert":"\#($0)"}}"#) }))
    }
  }

  private static func token(of user: String) -> String {
    let digits = user.dropFirst()
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  @Test("what a dead worker left is sent with the same values")
  func takenOver() async throws {
    let sender = ScriptedSender { sent in sent.token.hasSuffix("1") ? .accepted : nil }
    let storeClocks = DrivenClocks()
    try await StoreKind.current.withStore(storeClocks) { store in
      let bench = WorkerBench(
        store: FaultyStore(store), sender: sender, clocks: DrivenClocks(), storeClocks: storeClocks)
      _ = try await bench.store.bind([
        AppBinding(topic: WorkerBench.topic, environment: .production, teamID: "ABCDE12345", keyID: "KEY1234567")
      ])
      _ = try await register(bench, 1, user: "ada")
      _ = try await register(bench, 2, user: "eve")
      let id = try await publish(bench, users: ["eve", "ada"])
      try await bench.whileWorking(owner: 1) {
        try await bench.until("one is settled") { try await bench.receipts(id).count == 1 }
        // From here on this worker is as good as dead: it hands nothing back.
        bench.store.fail(["flush", "renew", "release"], .before(FaultyStore.busy))
      }
      bench.store.fail(["flush", "renew", "release"], nil)
      sender.script { _ in .accepted }

      try await bench.whileWorking(owner: 2) { _ = try await bench.final(id, step: .milliseconds(500)) }

      #expect(texts(bench) == ["1": ["ada"], "2": ["eve", "eve"]])
      #expect(try await bench.store.status(id)?.counts.accepted == 2)
      await bench.store.close()
    }
  }

  @Test("a store that cannot say whose values to take delays the push, and never sends it with others or none")
  func storeFails() async throws {
    try await WorkerBench.run { bench in
      _ = try await register(bench, 1, user: "ada")
      bench.store.fail(["entries"], .before(FaultyStore.busy))
      let id = try await publish(bench, users: ["ada"])
      try await bench.until("it was asked twice") { bench.store.calls("entries") >= 2 }
      #expect(bench.sender.sent.isEmpty)

      bench.store.fail(["entries"], nil)
      _ = try await bench.final(id)

      #expect(texts(bench) == ["1": ["ada"]])
    }
  }

  @Test("a notification whose values are lost is parked in the end, and never sent with its placeholders")
  func valuesLost() async throws {
    try await WorkerBench.run { bench in
      _ = try await register(bench, 1, user: "ada")
      var values = RecipientValues(names: ["name"])
      values.users = [[Array("ada".utf8)]]
      let id = try await bench.publish(
        Target(users: ["ada"]), sendAt: UnixMilliseconds(bench.clocks.wallTime().value + 2000), payload: Self.payload,
        values: values)
      bench.store.loseValues(id)

      try await bench.until("it is parked", step: .milliseconds(500)) {
        try await bench.store.status(id)?.state == .parked
      }

      #expect(bench.sender.sent.isEmpty)
    }
  }

  @Test("canceled between two tries, nothing more is sent")
  func canceled() async throws {
    let sender = ScriptedSender { _ in .retry(.known(ReasonID(42)), notBefore: nil) }
    try await WorkerBench.run(sender) { bench in
      _ = try await register(bench, 1, user: "ada")
      let id = try await publish(bench, users: ["ada"])
      try await bench.until("the retry waits") { try await bench.receipts(id).count == 1 }
      #expect(try await bench.store.cancel(id) == true)

      let status = try await bench.final(id, step: .milliseconds(500))

      #expect(status.state == .canceled && sender.sent.count == 1)
    }
  }

  @Test("held with its app and resumed, a push goes out with its values")
  func held() async throws {
    let sender = ScriptedSender { _ in .held(.key, .known(ReasonID(29))) }
    try await WorkerBench.run(sender) { bench in
      _ = try await register(bench, 1, user: "ada", interests: ["news"])
      let id = try await publish(bench, interests: ["news"], users: ["ada"])
      try await bench.until("it is held") { try await bench.store.status(id)?.state == .held }
      let looks = bench.store.calls("credentials")
      try await bench.until("the worker has looked at it") { bench.store.calls("credentials") > looks + 2 }

      sender.script { _ in .accepted }
      try await bench.store.resume(bench.store.credentials().map(\.id))
      let status = try await bench.final(id)

      #expect(status.counts.accepted == 1 && texts(bench) == ["1": ["ada", "ada"]])
    }
  }

  @Test("a notification without values of recipients costs no further question to the store")
  func without() async throws {
    try await WorkerBench.run { bench in
      _ = try await register(bench, 1, user: "ada")
      let id = try await bench.publish(Target(users: ["ada"]), payload: Self.payload)

      _ = try await bench.final(id)

      #expect(bench.store.calls("entries") == 0)
      #expect(bench.sender.sent.map(\.payload) == [Self.payload])
    }
  }
}
