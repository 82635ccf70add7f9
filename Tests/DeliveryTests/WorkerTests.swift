import Delivery
import Operations
import PushCore
import Support
import Testing

@Suite("Worker on a real store", .onEveryStore, .timeLimit(.minutes(2)))
struct WorkerTests {
  @Test("a notification to an interest reaches each subscriber once, and each has one receipt", arguments: [3, 2500])
  func interest(count: Int) async throws {
    try await WorkerBench.run { bench in
      let tokens = try await bench.register(count, interest: "news")
      let id = try await bench.publish(Target(interests: ["news"]))

      let status = try await bench.final(id)

      #expect(status.state == .done && status.isComplete)
      #expect(status.counts.accepted == count && status.counts.devices == count)
      #expect(bench.sender.times == Dictionary(uniqueKeysWithValues: tokens.map { ($0.text, 1) }))
      let receipts = try await bench.receipts(id)
      #expect(receipts.count == count)
      #expect(receipts.allSatisfy { $0.outcome == .accepted && $0.status == 200 })
      #expect((receipts.first?.latencyMilliseconds == 3) == (count <= 100), "small sends keep a row a device")
    }
  }

  @Test("interests, users and tokens that name the same devices give one push each")
  func mixed() async throws {
    try await WorkerBench.run { bench in
      let tokens = try await bench.register(5, interest: "news", user: "jane")
      let stranger = DeviceToken(stored: String(repeating: "ab", count: 32))
      let id = try await bench.publish(
        Target(interests: ["news", "sports"], users: ["jane"], tokens: [tokens[0], tokens[0], stranger]))

      let status = try await bench.final(id)

      #expect(status.counts.accepted == 6)
      #expect(bench.sender.times.count == 6)
      #expect(bench.sender.times.values.allSatisfy { $0 == 1 })
    }
  }

  @Test("a 410 retires the device unless it registered again after the time it names")
  func gone() async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(2)
      let registeredAt = bench.clocks.wallTime().value
      sender.script { sent in
        let isFirst = sent.token == tokens[0].text
        return .gone(.known(ReasonID(35)), registeredBefore: UnixMilliseconds(registeredAt + (isFirst ? 1 : -1)))
      }
      let id = try await bench.publish(Target(tokens: tokens))

      let status = try await bench.final(id)

      #expect(status.counts.rejected == 2)
      var query = DeviceQuery()
      query.retired = true
      let retired = try await bench.store.devices(query, after: DeviceID(0), limit: 10)
      #expect(retired.map(\.token) == [tokens[0]])
      #expect(retired.first?.retiredReason == ReasonID(35))
    }
  }

  @Test("what APNs failed is tried again after its back-off, and only that")
  func retries() async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(10)
      let failing = tokens[4].text
      let failures = Lock(2)
      sender.script { sent in
        guard sent.token == failing else { return .accepted }
        let left = failures.withLock { left in
          left -= 1
          return left
        }
        return left >= 0 ? .retry(.known(ReasonID(42)), notBefore: nil) : .accepted
      }
      let id = try await bench.publish(Target(tokens: tokens))

      let status = try await bench.final(id, step: .milliseconds(500))

      #expect(status.counts.accepted == 10 && status.isComplete)
      #expect(bench.sender.times[failing] == 3)
      #expect(bench.sender.sent.count == 12)
      let receipt = try await bench.receipts(id).first { $0.token == tokens[4] }
      #expect(receipt?.attempts == 3)
    }
  }

  @Test("a retry that would come after the deadline ends as expired at once, with the last reason")
  func expiredRetry() async throws {
    let sender = ScriptedSender { _ in .retry(.known(ReasonID(42)), notBefore: nil) }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(1)
      let id = try await bench.publish(Target(tokens: tokens), deadline: .after(.seconds(10)))

      let status = try await bench.final(id)

      #expect(status.counts.expired == 1)
      let receipt = try await bench.receipts(id).first
      #expect(receipt?.outcome == .expired && receipt?.reason == ReasonID(42) && receipt?.status == 503)
      #expect(bench.sender.sent.count == 1)
    }
  }

  @Test("an expired notification is not sent and counts no attempt")
  func expired() async throws {
    try await WorkerBench.run { bench in
      let tokens = try await bench.register(3)
      let id = try await bench.publish(
        Target(tokens: tokens), deadline: .at(UnixMilliseconds(bench.clocks.wallTime().value - 1000)))

      let status = try await bench.final(id)

      #expect(status.counts.expired == 3)
      #expect(bench.sender.sent.isEmpty)
      #expect(try await bench.receipts(id).allSatisfy { $0.attempts == 0 && $0.status == 0 })
    }
  }

  @Test("a refused credential holds the work uncounted; resumed, everything is sent once")
  func held() async throws {
    let sender = ScriptedSender { _ in .held(.key, .known(ReasonID(29))) }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(30)
      let id = try await bench.publish(Target(tokens: tokens))
      try await bench.until("it is held") { try await bench.store.status(id)?.state == .held }
      let refused = bench.sender.sent.count
      let looks = bench.store.calls("credentials")
      try await bench.until("the worker has looked at it") { bench.store.calls("credentials") > looks + 2 }

      sender.script { _ in .accepted }
      try await bench.store.resume(bench.store.credentials().map(\.id))
      let status = try await bench.final(id)

      #expect(refused == 30)
      #expect(status.counts.accepted == 30 && status.isComplete)
      #expect(try await bench.receipts(id).allSatisfy { $0.attempts == 1 }, "a refusal of the key is no try")
      #expect(
        bench.events.withLock { $0 }.contains { if case .held(_, "reason 29") = $0 { true } else { false } })
      try await bench.until("the end of the pause is told") {
        bench.events.withLock { $0 }.contains { if case .resumed = $0 { true } else { false } }
      }
    }
  }

  @Test("while APNs cannot be reached nothing is written, and afterwards everything is sent once")
  func unreachable() async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(20)
      let clocks = bench.clocks
      let failure = SendFailure(kind: .unreachable, message: "connection refused", remedy: "start it")
      sender.script { _ in .unsent(failure, retryAt: clocks.monotonicTime() + .seconds(2)) }
      let id = try await bench.publish(Target(tokens: tokens))
      try await bench.until("it was tried twice") { bench.sender.sent.count >= 40 }

      #expect(try await bench.receipts(id).isEmpty)
      #expect(try await bench.store.credentials().compactMap { $0.trouble?.text } == ["connection refused. start it"])
      sender.script { _ in .accepted }
      let status = try await bench.final(id)
      try await bench.until("the trouble is over") {
        try await bench.store.credentials().allSatisfy { $0.trouble == nil }
      }

      #expect(status.counts.accepted == 20)
      #expect(try await bench.receipts(id).allSatisfy { $0.attempts == 1 })
    }
  }

  @Test("a push that APNs refused to process goes again by itself and holds no other up")
  func refusedStream() async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(20)
      let clocks = bench.clocks
      let failure = SendFailure(kind: .refused, message: "stream refused", remedy: "later")
      let refusals = Lock(0)
      sender.script { [unlucky = tokens[3].text] sent in
        let isRefused =
          sent.token == unlucky
          && refusals.withLock { refusals in
            refusals += 1
            return refusals <= 3
          }
        return isRefused ? .unsent(failure, retryAt: clocks.monotonicTime()) : .accepted
      }

      let status = try await bench.final(try await bench.publish(Target(tokens: tokens)))

      #expect(status.counts.accepted == 20)
      #expect(
        sender.times
          == Dictionary(tokens.map { ($0.text, 1) }) { first, _ in first }.merging([tokens[3].text: 4]) { $1 })
      let events = bench.events.withLock { $0 }
      #expect(events.contains { if case .failing(_, reason: "Refused", _) = $0 { true } else { false } })
      #expect(!events.contains { if case .unreachable = $0 { true } else { false } })
    }
  }

  @Test("cancel stops what is not with a connection; the sums add up")
  func canceled() async throws {
    let sender = ScriptedSender { _ in nil }
    try await WorkerBench.run(sender) { bench in
      _ = try await bench.register(3000, interest: "news")
      let id = try await bench.publish(Target(interests: ["news"]), lane: .bulk)
      try await bench.until("two batches are out") { bench.sender.sent.count == 2000 }

      #expect(try await bench.store.cancel(id) == true)
      try await bench.until("the worker knows") {
        bench.advance(by: .seconds(1))
        return try await bench.store.status(id)?.state == .canceled
      }
      sender.answerHeldBack(.accepted)
      try await bench.until("it is settled") {
        sender.answerHeldBack(.accepted)
        return try await bench.store.status(id)?.doneAt != nil
      }

      let status = try await bench.store.status(id)
      #expect(bench.sender.sent.count == 2000)
      #expect(status?.counts.accepted == 2000)
      #expect(status?.isComplete == false)
      #expect(try await bench.store.cancel(id) == false)
    }
  }

  @Test("a worker that was stopped hands its work back uncounted, and the next one finishes it")
  func handedBack() async throws {
    let sender = ScriptedSender { _ in nil }
    let notification = Lock<NotificationID?>(nil)
    let storeClocks = DrivenClocks()
    try await StoreKind.current.withStore(storeClocks) { store in
      let bench = WorkerBench(
        store: FaultyStore(store), sender: sender, clocks: DrivenClocks(), storeClocks: storeClocks)
      _ = try await bench.store.bind([
        AppBinding(topic: WorkerBench.topic, environment: .production, teamID: "ABCDE12345", keyID: "KEY1234567")
      ])
      try await bench.whileWorking(owner: 1) {
        let tokens = try await bench.register(5)
        let id = try await bench.publish(Target(tokens: tokens))
        notification.withLock { $0 = id }
        try await bench.until("it was handed over") { sender.sent.count == 5 }
      }
      let id = try #require(notification.withLock { $0 })
      #expect(try await bench.store.status(id)?.state == .queued)

      sender.script { _ in .accepted }
      try await bench.whileWorking(owner: 2) { _ = try await bench.final(id) }

      let status = try await bench.store.status(id)
      #expect(status?.counts.accepted == 5)
      #expect(try await bench.receipts(id).allSatisfy { $0.attempts == 1 })
      await bench.store.close()
    }
  }

  @Test("a scheduled notification waits for its time and reaches who registered before it")
  func scheduled() async throws {
    try await WorkerBench.run { bench in
      let id = try await bench.publish(
        Target(interests: ["later"]), sendAt: UnixMilliseconds(bench.clocks.wallTime().value + 60_000))
      _ = try await bench.register(2, interest: "later")
      bench.advance(by: .seconds(30))

      #expect(try await bench.store.status(id)?.state == .scheduled)
      let status = try await bench.final(id, step: .milliseconds(500))

      #expect(status.counts.accepted == 2)
    }
  }

  @Test("who registers while a scheduled notification is sent is left out, who came before its time is in")
  func scheduledAudience() async throws {
    let sender = ScriptedSender { _ in nil }
    try await WorkerBench.run(sender) { bench in
      let id = try await bench.publish(
        Target(interests: ["later"]), lane: .bulk, sendAt: UnixMilliseconds(bench.clocks.wallTime().value + 60_000))
      let early = try await bench.register(3000, interest: "later")
      try await bench.until("it has begun", step: .milliseconds(500)) { sender.sent.count == 2000 }

      let late = (0..<200).map { DeviceToken(stored: String(repeating: "f", count: 60) + String(1000 + $0)) }
      _ = try await bench.store.register(
        late.map {
          DeviceRegistration(
            topic: WorkerBench.topic, environment: .production, token: $0, interests: .set(["later"]))
        })
      sender.script { _ in .accepted }
      sender.answerHeldBack(.accepted)
      let status = try await bench.final(id)

      #expect(status.counts.accepted == 3000 && status.isComplete)
      #expect(Set(sender.times.keys) == Set(early.map(\.text)))
    }
  }

  @Test("an urgent push waits neither for a full bulk send nor for its retries")
  func urgentBesideBulk() async throws {
    let sender = ScriptedSender { $0.lane == .urgent ? .accepted : nil }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(5000, interest: "all")
      let bulk = try await bench.publish(Target(interests: ["all"]), lane: .bulk)
      try await bench.until("all streams are taken") { sender.sent.count == 2000 }

      func urgent() async throws -> Duration {
        let start = bench.clocks.monotonicTime()
        let status = try await bench.final(
          try await bench.publish(Target(tokens: [tokens[0]]), lane: .urgent), step: .milliseconds(1))
        #expect(status.counts.accepted == 1)
        return bench.clocks.monotonicTime().since(start)
      }
      let duringSend = try await urgent()
      sender.script { $0.lane == .urgent ? .accepted : .retry(.known(ReasonID(42)), notBefore: nil) }
      sender.answerHeldBack(.retry(.known(ReasonID(42)), notBefore: nil))
      try await bench.until("all have failed once") { sender.sent.count { $0.lane == .bulk } >= 5000 }
      let duringRetries = try await urgent()

      // No answer of the bulk send comes by itself, and its retries come after half a minute.
      #expect(duringSend < .seconds(1) && duringRetries < .seconds(1), "\(duringSend) \(duringRetries)")
      sender.script { _ in .accepted }
      #expect(try await bench.final(bulk, step: .milliseconds(500)).counts.accepted == 5000)
    }
  }

  @Test("an urgent audience beyond a thousand devices goes on in lane 1, each device once")
  func urgentMany() async throws {
    try await WorkerBench.run { bench in
      _ = try await bench.register(2500, interest: "all")
      let id = try await bench.publish(Target(interests: ["all"]), lane: .urgent)

      let status = try await bench.final(id)

      #expect(status.counts.accepted == 2500)
      #expect(bench.sender.sent.count == 2500)
      #expect(bench.sender.sent.count { $0.lane == .urgent } == 1000)
    }
  }

  @Test("a text that no table has is kept with its receipt")
  func unknownReason() async throws {
    let sender = ScriptedSender { _ in .rejected(.unknown("BrandNewReason")) }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(1)
      let id = try await bench.publish(Target(tokens: tokens))

      _ = try await bench.final(id)

      #expect(try await bench.receipts(id).first?.storedReason == "BrandNewReason")
    }
  }
}
