import Glibc
import Operations
import Testing

@testable import EventLoop

private func time(_ nanoseconds: UInt64) -> MonotonicTime { MonotonicTime(nanoseconds: nanoseconds) }

@Suite struct TimerQueueTests {
  @Test("Timers come in the order of their deadlines, whatever the order they were set in")
  func order() {
    var queue = TimerQueue<UInt64>()
    var generator = SystemRandomNumberGenerator()
    let deadlines = (0..<1000).map { _ in UInt64.random(in: 1...500, using: &generator) }
    for deadline in deadlines { _ = queue.schedule(at: time(deadline), deadline) }

    var fired: [UInt64] = []
    while let next = queue.popDue(time(500)) { fired.append(next) }

    #expect(fired == deadlines.sorted())
    expect(queue.nextDeadline, nil)
  }

  @Test("Timers of one deadline come in the order in which they were set, others canceled or not", arguments: [0, 100])
  func orderOfEquals(canceled: Int) {
    var queue = TimerQueue<Int>()
    let others = (0..<canceled).map { queue.schedule(at: time(5), -$0) }
    for number in 0..<200 { _ = queue.schedule(at: time(number.isMultiple(of: 2) ? 7 : 6), number) }
    for timer in others { queue.cancel(timer) }

    var fired: [Int] = []
    while let next = queue.popDue(time(7)) { fired.append(next) }

    #expect(fired == (0..<100).map { 2 * $0 + 1 } + (0..<100).map { 2 * $0 })
  }

  @Test("A timer does not fire before its deadline")
  func notEarly() {
    var queue = TimerQueue<Int>()
    _ = queue.schedule(at: time(10), 1)
    expect(queue.popDue(time(9)), nil)
    expect(queue.popDue(time(10)), 1)
    expect(queue.popDue(time(10)), nil)
  }

  @Test("Canceled timers neither fire nor set the next deadline, and others are untouched")
  func cancel() {
    var queue = TimerQueue<Int>()
    let timers = (0..<1000).map { queue.schedule(at: time(UInt64($0)), $0) }
    for (index, timer) in timers.enumerated() where index % 10 != 0 { expect(queue.cancel(timer), true) }
    expect(queue.cancel(timers[1]), false)
    expect(queue.cancel(timers[0]), true)

    expect(queue.nextDeadline, time(10))
    var fired: [Int] = []
    while let next = queue.popDue(time(1000)) { fired.append(next) }
    #expect(fired == (1..<100).map { $0 * 10 })
    expect(queue.cancel(timers[10]), false)
  }

  @Test("An old name does not cancel the timer that took its place")
  func reuse() {
    var queue = TimerQueue<Int>()
    let first = queue.schedule(at: time(1), 1)
    _ = queue.popDue(time(1))
    _ = queue.schedule(at: time(2), 2)
    expect(queue.cancel(first), false)
    expect(queue.popDue(time(2)), 2)
  }
}

@Suite struct LoopThreadTests {
  @Test("Every message from many threads arrives, in each sender's order", .timeLimit(.minutes(1)))
  func mailbox() async throws {
    let mailbox = try Mailbox<(sender: Int, number: Int)>()
    let (stream, continuation) = AsyncStream<[(sender: Int, number: Int)]>.makeStream()
    let thread = try LoopThread(name: "mailbox-test") { loop in
      _ = try? loop.attach(mailbox) { continuation.yield($0) }
    }

    for sender in 0..<8 {
      Task.detached { for number in 0..<1000 { mailbox.send((sender, number)) } }
    }
    var next = [Int](repeating: 0, count: 8)
    for await messages in stream {
      for message in messages {
        #expect(message.number == next[message.sender])
        next[message.sender] += 1
      }
      if next.allSatisfy({ $0 == 1000 }) { break }
    }

    thread.stop()
    await thread.ended()
    #expect(mailbox.send((0, 0)))
    #expect(mailbox.close().count == 1)
    #expect(!mailbox.send((0, 0)))
  }

  @Test("A timer fires on the loop after its delay", .timeLimit(.minutes(1)))
  func timer() async throws {
    let start = SystemClocks().monotonicTime()
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    let thread = try LoopThread(name: "timer-test") { loop in
      let canceled = loop.schedule(after: .milliseconds(1)) { Issue.record("a canceled timer fired") }
      loop.cancel(canceled)
      loop.schedule(after: .milliseconds(20)) { continuation.finish() }
    }

    for await _ in stream {}

    #expect(SystemClocks().monotonicTime().since(start) >= .milliseconds(20))
    thread.stop()
    thread.join()
  }

  @Test(
    "After a pause everything that came in is handled before the timers, however much it is", .timeLimit(.minutes(1)))
  func pause() async throws {
    let received = Lock(0)
    let (counts, continuation) = AsyncStream<Int>.makeStream()
    // More than one look at the poller shows.
    let mailboxes = try (0..<200).map { _ in try Mailbox<Int>() }
    let thread = try LoopThread(name: "pause-test") { loop in
      for mailbox in mailboxes {
        do {
          _ = try loop.attach(mailbox) { messages in received.withLock { $0 += messages.count } }
        } catch {
          Issue.record("\(error)")
        }
      }
      loop.schedule(after: .milliseconds(1)) {
        loop.schedule(after: .milliseconds(1)) {
          continuation.yield(received.withLock { $0 })
          continuation.finish()
        }
        for mailbox in mailboxes { mailbox.send(0) }
        usleep(300_000)
      }
    }

    for await count in counts { #expect(count == 200) }
    thread.stop()
    thread.join()
  }

  @Test("A loop that has ended refuses work")
  func ended() async throws {
    let thread = try LoopThread(name: "end-test") { _ in }
    thread.stop()
    await thread.ended()
    #expect(!thread.execute { _ in Issue.record("it ran") })
  }

  @Test("An unknown name fails with the name and a remedy", .timeLimit(.minutes(1)))
  func unknownName() {
    let result = NameResolution.lookUp(host: "no-such-host.invalid", port: 443)
    guard case .failure(let error) = result else {
      Issue.record("it was found")
      return
    }
    #expect(error.operation == .resolve)
    #expect(error.description.contains("no-such-host.invalid:443"))
  }
}
