import Operations
import PushCore
import Testing

@testable import Delivery

@Suite("Decisions of the worker")
struct DecisionTests {
  @Test("back-off doubles from 0.5 s to 15 s in lane 0 and from 30 s to 15 min elsewhere")
  func backOff() {
    let policy = RetryPolicy()
    let most = 0.999_999
    let urgent = (0..<7).map { policy.delay(lane: .urgent, tries: $0, notBefore: nil, jitter: most).wholeMilliseconds }
    let normal = (0..<7).map { policy.delay(lane: .normal, tries: $0, notBefore: nil, jitter: most).wholeMilliseconds }

    #expect(urgent == [499, 999, 1999, 3999, 7999, 14999, 14999])
    #expect(normal == [29999, 59999, 119_999, 239_999, 479_999, 899_999, 899_999])
    #expect(policy.delay(lane: .urgent, tries: 0, notBefore: nil, jitter: 0) == .milliseconds(250))
  }

  @Test("Retry-After is waited for at least, with jitter on top")
  func retryAfter() {
    for jitter in [0, 0.5, 0.99] {
      let delay = RetryPolicy().delay(lane: .urgent, tries: 0, notBefore: .seconds(7), jitter: jitter)
      #expect(delay >= .seconds(7) && delay < .seconds(9))
    }
  }

  @Test(
    "a failed send ends when its tries are used up, its deadline is near, or only one attempt is allowed",
    arguments: [
      (8, 3600, false, RetryPolicy.Decision.again(after: .seconds(450))),
      (9, 3600, false, .failed), (0, 10, false, .expired), (0, 3600, true, .failed),
    ])
  func giveUp(tries: Int, secondsLeft: Int64, onlyOnce: Bool, expected: RetryPolicy.Decision) {
    let decision = RetryPolicy().decide(
      lane: .normal, tries: tries, notBefore: nil, timeLeft: .seconds(secondsLeft), onlyOnce: onlyOnce, jitter: 0)

    #expect(decision == expected)
  }

  @Test("no device is retired as bad before something was accepted, nor when most are called bad")
  func fuse() async {
    let start = MonotonicTime(nanoseconds: 1_000_000_000_000)
    var nothingAccepted = RetirementFuse()
    let early = nothingAccepted.note(answers: 9, accepted: 0, refusals: 9, at: start)
    let later = nothingAccepted.note(answers: 1, accepted: 0, refusals: 1, at: start)
    let again = nothingAccepted.note(answers: 1, accepted: 0, refusals: 1, at: start)

    #expect(!nothingAccepted.allowsRetirement)
    #expect([early, later, again] == [false, true, false], "said once, when it is worth it")

    var usual = RetirementFuse()
    _ = usual.note(answers: 3, accepted: 2, refusals: 1, at: start)
    #expect(usual.allowsRetirement, "one of three, and others were accepted")
    _ = usual.note(answers: 97, accepted: 67, refusals: 30, at: start)
    #expect(!usual.allowsRetirement, "a third of a hundred")
    _ = usual.note(answers: 900, accepted: 900, refusals: 0, at: start + .seconds(10))
    #expect(usual.allowsRetirement, "usual again")
    _ = usual.note(answers: 1, accepted: 0, refusals: 1, at: start + .seconds(1000))
    #expect(!usual.allowsRetirement, "what was accepted long ago proves nothing")
  }

  @Test("a merge of sources sends one push to a device that is in several, and stops where a full window ends")
  func merge() {
    let all = WalkMerge.merge(
      [
        .init(window: window(1, 3, 5), through: DeviceID(100)),
        .init(window: window(3, 4, 5, 9), through: DeviceID(100)),
      ],
      hi: DeviceID(100))
    let partial = WalkMerge.merge(
      [.init(window: window(1, 3, 5), through: DeviceID(5)), .init(window: window(2, 7), through: DeviceID(100))],
      hi: DeviceID(100))

    #expect(all.window.ids.map(\.rawValue) == [1, 3, 4, 5, 9])
    #expect(all.through == DeviceID(100))
    #expect(partial.window.ids.map(\.rawValue) == [1, 2, 3, 5])
    #expect(partial.through == DeviceID(5))
    #expect(WalkMerge.merge([], hi: DeviceID(100)).through == DeviceID(100))
  }

  @Test("the next ids of a list are those behind the cursor, and a page is full only when more follow")
  func pages() {
    let ids = [3, 5, 8, 13].map { DeviceID($0) }

    #expect(WalkStep.next(2, of: ids, after: DeviceID(3), through: DeviceID(100)).ids == [DeviceID(5), DeviceID(8)])
    #expect(WalkStep.next(2, of: ids, after: DeviceID(3), through: DeviceID(100)).isFull)
    #expect(!WalkStep.next(2, of: ids, after: DeviceID(5), through: DeviceID(100)).isFull)
    #expect(!WalkStep.next(2, of: ids, after: DeviceID(0), through: DeviceID(5)).isFull)
    #expect(WalkStep.next(2, of: ids, after: DeviceID(13), through: DeviceID(100)).ids.isEmpty)
  }

  @Test("a lane is asked when woken or polled, without a window every five seconds and while answers are full")
  func claims() {
    var schedule = ClaimSchedule(lanes: [.urgent, .bulk], pollInterval: .milliseconds(250))
    var now = MonotonicTime(nanoseconds: 1_000_000_000_000)
    let first = schedule.ask(.bulk, open: 0, at: now)

    #expect(first == .init(lane: .bulk, window: nil, limit: 4))
    if let first { schedule.asked(first, got: 4, at: now) }
    #expect(schedule.ask(.bulk, open: 0, at: now) == .init(lane: .bulk, window: nil, limit: 4), "a full answer: again")
    if let first { schedule.asked(first, got: 1, at: now) }
    #expect(schedule.ask(.bulk, open: 1, at: now) == nil)
    now = now + .milliseconds(250)
    #expect(schedule.ask(.bulk, open: 1, at: now) == .init(lane: .bulk, window: .seconds(60), limit: 3))
    #expect(schedule.ask(.bulk, open: 4, at: now) == nil, "enough is open")
    now = now + .seconds(5)
    #expect(schedule.ask(.bulk, open: 0, at: now)?.window == nil)
  }

  private func window(_ ids: Int64...) -> DeviceWindow {
    var window = DeviceWindow()
    for id in ids {
      window.append(
        id: DeviceID(id), credential: CredentialID(1), registeredAt: UnixMilliseconds(1), token: "aa".utf8)
    }
    return window
  }
}
