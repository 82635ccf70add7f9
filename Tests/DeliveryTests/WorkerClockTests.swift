import Operations
import PushCore
import Support
import Testing

@testable import Delivery

/// No clock is trusted but the store's for deadlines, and the worker's own passing of time for leases.
@Suite("Worker with clocks that disagree", .onEveryStore, .timeLimit(.minutes(2)))
struct WorkerClockTests {
  @Test("a worker whose clock is an hour off sends, tries again and expires by the store's", arguments: [-3600, 3600])
  func hourOff(seconds: Int) async throws {
    let sender = ScriptedSender { _ in .retry(.known(ReasonID(42)), notBefore: nil) }
    try await WorkerBench.run(sender) { bench in
      bench.clocks.stepWall(by: .seconds(seconds))
      let tokens = try await bench.register(3)
      let start = bench.clocks.monotonicTime()
      let id = try await bench.publish(Target(tokens: tokens), deadline: .after(.seconds(600)))
      let short = try await bench.publish(Target(tokens: [tokens[0]]), deadline: .after(.seconds(10)))
      let later = try await bench.publish(
        Target(tokens: [tokens[0]]), sendAt: UnixMilliseconds(bench.storeClocks.wallTime().value + 60_000))
      try await bench.until("they were tried") { sender.sent.count == 4 }
      sender.script { _ in .accepted }

      #expect(try await bench.final(short, step: .milliseconds(500)).counts.expired == 1)
      #expect(bench.clocks.monotonicTime().since(start) < .seconds(30))
      #expect(try await bench.final(id, step: .milliseconds(500)).counts.accepted == 3)
      #expect(try await bench.final(later, step: .milliseconds(500)).counts.accepted == 1)
      #expect(bench.clocks.monotonicTime().since(start) >= .seconds(60))
    }
  }

  @Test("the store's clock steps half a minute while pushes are out: none is lost or sent twice", arguments: [-30, 30])
  func storeSteps(seconds: Int) async throws {
    let sender = ScriptedSender { _ in nil }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(30)
      let id = try await bench.publish(Target(tokens: tokens))
      try await bench.until("they are out") { sender.sent.count == 30 }
      bench.storeClocks.stepWall(by: .seconds(seconds))
      let reaps = bench.store.calls("reap")
      try await bench.until("it looked for dead leases") { bench.store.calls("reap") > reaps + 1 }

      sender.answerHeldBack(.accepted)
      let status = try await bench.final(id)
      sender.script { _ in .accepted }
      let next = try await bench.publish(Target(tokens: [tokens[0]]), deadline: .after(.seconds(60)))

      #expect(status.counts.accepted == 30 && sender.sent.count == 30)
      #expect(try await bench.final(next).counts.accepted == 1)
    }
  }

  @Test("a worker whose time passes 5 % too slowly hands nothing to a connection beyond its lease")
  func slow() async throws {
    let sender = ScriptedSender { _ in nil }
    try await WorkerBench.run(sender) { bench in
      let tokens = try await bench.register(1)
      let before = bench.clocks.monotonicTime()
      _ = try await bench.publish(Target(tokens: tokens))
      // The wake-up alone brings it out: the clock stands still.
      try await eventually("it is out") { sender.sent.count == 1 }

      let usable = try #require(sender.sent.first).notAfter.since(before)
      #expect(usable > .seconds(13) && usable * (1 / 0.95) < .seconds(15))
    }
  }

  @Test("work whose wake-up was lost is found by the next look, within a second", arguments: Lane.allCases)
  func lostWakeUp(_ lane: Lane) async throws {
    let sender = ScriptedSender()
    try await WorkerBench.run(sender, hearsOfWork: false) { bench in
      let tokens = try await bench.register(1)
      try await bench.until("the worker works") { bench.store.calls("claim") > 6 }
      let start = bench.clocks.monotonicTime()
      let id = try await bench.publish(Target(tokens: tokens), lane: lane)
      _ = try await bench.final(id, step: .milliseconds(2))

      #expect(bench.clocks.monotonicTime().since(start) < .seconds(1))
      #expect(sender.sent.count == 1)
    }
  }
}
