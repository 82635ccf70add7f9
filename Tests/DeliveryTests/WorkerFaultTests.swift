import Operations
import PushCore
import Support
import Testing

@testable import Delivery

@Suite("Worker under faults", .onEveryStore, .timeLimit(.minutes(2)))
struct WorkerFaultTests {
  private static let unreachable = SendFailure(kind: .unreachable, message: "connection refused", remedy: "start it")

  private func devices(_ range: Range<Int>) -> [DeviceToken] {
    range.map { index in
      let text = String(index, radix: 16)
      return DeviceToken(stored: String(repeating: "0", count: 64 - text.utf8.count) + text)
    }
  }

  @Test("one environment cannot be reached: the other devices of the same notification are sent all the same")
  func oneEnvironmentAway() async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender) { bench in
      let sandbox = Set(try await bench.register(20, interest: "news", environment: .sandbox).map(\.text))
      _ = try await bench.store.register(
        devices(100_000..<105_000).map {
          DeviceRegistration(
            topic: WorkerBench.topic, environment: .production, token: $0, interests: .set(["news"]))
        })
      let clocks = bench.clocks
      sender.script { sent in
        sandbox.contains(sent.token)
          ? .unsent(Self.unreachable, retryAt: clocks.monotonicTime() + .seconds(60)) : .accepted
      }
      let id = try await bench.publish(Target(interests: ["news"]), deadline: .after(.seconds(300)))

      let status = try await bench.final(id, step: .milliseconds(500))

      #expect(status.counts.accepted == 5000)
      #expect(status.counts.expired == 20)
      #expect(status.isComplete)
    }
  }

  @Test("notifications that wait for an environment that is away do not keep others from being claimed")
  func othersGoOn() async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender) { bench in
      let sandbox = Set(try await bench.register(20, interest: "beta", environment: .sandbox).map(\.text))
      _ = try await bench.store.register(
        devices(100_000..<100_001).map {
          DeviceRegistration(
            topic: WorkerBench.topic, environment: .production, token: $0, interests: .set(["live"]))
        })
      let clocks = bench.clocks
      sender.script { sent in
        sandbox.contains(sent.token)
          ? .unsent(Self.unreachable, retryAt: clocks.monotonicTime() + .seconds(2)) : .accepted
      }
      for _ in 0..<4 {
        _ = try await bench.publish(Target(interests: ["beta"]), lane: .bulk, deadline: .after(.seconds(600)))
      }
      try await bench.until("they were tried") { sender.sent.count >= 80 }
      let start = bench.clocks.monotonicTime()

      let id = try await bench.publish(Target(interests: ["live"]), lane: .bulk)
      _ = try await bench.final(id)

      #expect(bench.clocks.monotonicTime().since(start) < .seconds(10))
    }
  }

  @Test("paused while the last answers are out, a notification is done when they have come")
  func pausedLate() async throws {
    let sender = ScriptedSender { _ in nil }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(5)
      let id = try await bench.publish(Target(tokens: tokens))
      try await bench.until("they are out") { sender.sent.count == 5 }
      let reads = bench.store.calls("credentials")
      try await bench.store.hold(bench.store.credentials().map(\.id), reason: "operator")
      try await bench.until("the worker knows") { bench.store.calls("credentials") > reads + 3 }

      sender.answerHeldBack(.accepted)
      let status = try await bench.final(id)

      #expect(status.state == .done && status.counts.accepted == 5)
    }
  }

  @Test("a wall clock that steps ten minutes forward holds nothing")
  func clockStep() async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(1)
      try await bench.until("the worker works") { bench.store.calls("sweep") >= 1 }
      for clocks in [bench.clocks, bench.storeClocks] { clocks.stepWall(by: .seconds(600)) }
      let sweeps = bench.store.calls("sweep")
      try await bench.until("it has swept again", step: .milliseconds(100)) { bench.store.calls("sweep") > sweeps }

      #expect(try await bench.store.credentials().allSatisfy { $0.heldSince == nil })
      let start = bench.clocks.monotonicTime()
      let id = try await bench.publish(Target(tokens: tokens), lane: .urgent)
      _ = try await bench.final(id, step: .milliseconds(2))
      #expect(bench.clocks.monotonicTime().since(start) < .seconds(2))
    }
  }

  @Test("a notification that cannot be read is parked in the end and keeps nobody else from being sent")
  func unreadable() async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(4)
      let later = UnixMilliseconds(bench.clocks.wallTime().value + 2000)
      var ids: [NotificationID] = []
      for token in tokens { ids.append(try await bench.publish(Target(tokens: [token]), sendAt: later)) }
      bench.store.damage(ids[0])

      for id in ids.dropFirst() { #expect(try await bench.final(id).counts.accepted == 1) }
      try await bench.until("it is parked", step: .milliseconds(500)) {
        try await bench.store.status(ids[0])?.state == .parked
      }

      #expect(sender.sent.count == 3)
    }
  }

  @Test("a store that fails for a while loses no receipt and sends nothing twice", arguments: [true, false])
  func storeAway(isAnswerLost: Bool) async throws {
    let sender = ScriptedSender { _ in nil }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(30)
      let id = try await bench.publish(Target(tokens: tokens))
      try await bench.until("they are out") { sender.sent.count == 30 }
      bench.store.fail(["flush"], isAnswerLost ? .after(FaultyStore.busy) : .before(FaultyStore.busy))
      bench.store.fail(["claim", "claimExpired", "reap", "renew", "sweep"], .before(FaultyStore.busy))
      let flushes = bench.store.calls("flush")
      sender.answerHeldBack(.accepted)
      try await bench.until("the flush failed twice") { bench.store.calls("flush") > flushes + 1 }

      bench.store.fail(["flush", "claim", "claimExpired", "reap", "renew", "sweep"], nil)
      let status = try await bench.final(id)

      #expect(status.counts.accepted == 30 && status.counts.devices == 30)
      #expect(sender.sent.count == 30)
      try await bench.until("the worker says so") { bench.events.withLock { $0 }.contains(.storeRecovered) }
    }
  }

  @Test("while the store is away, and afterwards, an idle loop does not spin")
  func noSpin() async throws {
    try await WorkerBench.run { bench in
      try await bench.until("the worker works") { bench.store.calls("claim") > 4 }
      bench.store.fail(["claim", "claimExpired"], .before(FaultyStore.busy))
      try await bench.until("it failed") { bench.store.calls("claim") > 8 }
      bench.store.fail(["claim", "claimExpired"], nil)
      try await bench.until("it works again") {
        bench.events.withLock { $0 }.contains(.storeRecovered)
      }
      let before = bench.store.calls("claim")
      let start = bench.clocks.monotonicTime()
      try await bench.until("two seconds pass") { bench.clocks.monotonicTime().since(start) >= .seconds(2) }

      #expect(bench.store.calls("claim") - before < 60, "three lanes, four times a second")
    }
  }

  @Test("a worker does not take its own live leases for those of a dead one")
  func ownLeases() async throws {
    let sender = ScriptedSender { _ in nil }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(10)
      let id = try await bench.publish(Target(tokens: tokens))
      try await bench.until("they are out") { sender.sent.count == 10 }
      bench.store.fail(["renew", "flush"], .before(FaultyStore.busy))
      bench.advance(by: .seconds(20))
      let reaps = bench.store.calls("reap")
      try await bench.until("it was reaped") { bench.store.calls("reap") > reaps + 1 }
      bench.store.fail(["renew", "flush"], nil)

      sender.answerHeldBack(.accepted)
      let status = try await bench.final(id)

      #expect(status.counts.accepted == 10)
      #expect(sender.sent.count == 10, "nothing was sent twice")
    }
  }

  @Test("a lease that another worker took over ends the work of the first, which writes nothing")
  func leaseLost() async throws {
    let sender = ScriptedSender { _ in nil }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(3)
      let id = try await bench.publish(Target(tokens: tokens))
      try await bench.until("they are out") { sender.sent.count == 3 }
      bench.store.fail(["renew", "flush", "claim", "claimExpired", "reap"], .before(FaultyStore.busy))
      bench.advance(by: .seconds(20))
      bench.store.fail(["reap", "claim"], nil)
      _ = try await bench.store.reap(except: [])
      let stolen = try await bench.store.claim(
        ClaimRequest(
          lane: .normal, owner: 99, lease: .seconds(60), window: nil,
          credentials: bench.store.credentials().map(\.id), limit: 10))
      bench.store.fail(["renew", "flush", "claimExpired"], nil)

      sender.answerHeldBack(.accepted)
      try await bench.until("the first worker has noticed") {
        bench.events.withLock { $0 }.contains(.leaseLost(notification: id))
      }

      #expect(stolen.count == 1)
      #expect(try await bench.receipts(id).isEmpty)
    }
  }

  @Test("a device that left the interest between a try and its retry is skipped")
  func leftMeanwhile() async throws {
    let sender = ScriptedSender { _ in .retry(.known(ReasonID(42)), notBefore: nil) }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(2, interest: "news")
      let id = try await bench.publish(Target(interests: ["news"]))
      try await bench.until("they were tried") { sender.sent.count == 2 }
      _ = try await bench.store.setSubscription(
        topic: WorkerBench.topic, environment: .production, token: tokens[0], interest: "news", subscribed: false)
      sender.script { _ in .accepted }

      let status = try await bench.final(id, step: .milliseconds(500))

      #expect(status.counts.accepted == 1 && status.counts.skipped == 1)
      #expect(try await bench.receipts(id).contains { $0.reason == .noLongerTargeted })
    }
  }

  @Test("when most devices are called bad, none is retired for it; a 410 still retires")
  func fuse() async throws {
    let sender = ScriptedSender { _ in .unfit(.known(ReasonID(3))) }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(200)
      let id = try await bench.publish(Target(tokens: tokens))

      let status = try await bench.final(id)

      #expect(status.counts.rejected == 200)
      var query = DeviceQuery()
      query.retired = true
      #expect(try await bench.store.devices(query, after: DeviceID(0), limit: 10).isEmpty)
      #expect(
        bench.events.withLock { $0 }.contains { if case .retirementStopped = $0 { true } else { false } })
      sender.script { _ in .gone(.known(ReasonID(35)), registeredBefore: nil) }
      let second = try await bench.publish(Target(tokens: [tokens[0]]))
      _ = try await bench.final(second)
      #expect(try await bench.store.devices(query, after: DeviceID(0), limit: 10).count == 1)
    }
  }

  @Test("a key that is refused costs one push, at the start and after each resume; accepted, it opens the way for all")
  func probe() async throws {
    let sender = ScriptedSender { _ in .held(.key, .known(ReasonID(29))) }
    try await WorkerBench.run(sender, probes: true) { bench in
      let tokens = try await bench.register(50)
      let id = try await bench.publish(Target(tokens: tokens))
      for refused in 1...3 {
        try await bench.until("it is held") { try await bench.store.status(id)?.state == .held }
        #expect(sender.sent.count == refused)
        if refused == 3 { sender.script { _ in .accepted } }
        try await bench.store.resume(bench.store.credentials().map(\.id))
        try await bench.until("the next one was sent") { sender.sent.count > refused }
      }

      let status = try await bench.final(id)

      #expect(status.counts.accepted == 50)
      #expect(sender.sent.count == 53)
      #expect(try await bench.receipts(id).allSatisfy { $0.attempts == 1 })
    }
  }

}

/// Without a store.
@Suite(.timeLimit(.minutes(2))) struct InboxTests {
  @Test("the inbox returns at its deadline, however the two ways of waking meet")
  func inboxDeadline() async throws {
    struct InstantClocks: Clocks {
      func wallTime() -> UnixMilliseconds { SystemClocks().wallTime() }
      func monotonicTime() -> MonotonicTime { SystemClocks().monotonicTime() }
      func sleep(until deadline: MonotonicTime) async {}
    }
    // Only a hang takes that long, even beside all other tests.
    try await withDeadline(.seconds(100), "waiting") {
      await withTaskGroup { group in
        for _ in 0..<8 {
          group.addTask {
            let inbox = Inbox()
            let clocks = InstantClocks()
            for _ in 0..<5000 { await inbox.wait(until: clocks.monotonicTime() + .seconds(1), clocks: clocks) }
          }
        }
      }
    }
  }
}
