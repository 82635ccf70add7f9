import Operations
import PushCore
import Testing

@testable import APNs

@Suite("When a provider token is used, made, or waited for")
struct ProviderTokenPolicyTests {
  private typealias Age = ProviderTokenPolicy.Age
  private let now = UnixMilliseconds(1_767_225_600_000)

  private func decide(_ wall: Int?, _ monotonic: Int? = nil, refusedFor: Int? = nil)
    -> ProviderTokenPolicy.Decision
  {
    ProviderTokenPolicy.decide(
      age: wall.map { Age(wall: .seconds($0), monotonic: monotonic.map { .seconds($0) }) },
      refusedUntil: refusedFor.map { UnixMilliseconds(now.value + Int64($0) * 1000) }, now: now)
  }

  @Test("without a token one is made")
  func none() { #expect(decide(nil) == .mint) }

  @Test(
    "a token is used until it is 45 minutes old, then renewed", arguments: [0, 1, 1199, 1200, 2699])
  func young(age: Int) {
    #expect(decide(age) == .use)
    #expect(decide(2700) == .mint)
    #expect(decide(100_000) == .mint)
  }

  @Test("a clock set back does not keep a token beyond 45 minutes")
  func setBack() {
    #expect(decide(900, 2700) == .mint)
    #expect(decide(900, 2699) == .use)
  }

  @Test(
    "a token from the future is stale, yet renewed only when 20 minutes have passed where that is known"
  )
  func negativeAge() {
    #expect(decide(-1800) == .mint)
    #expect(decide(-1800, 1200) == .mint)
    #expect(decide(-1800, 1199) == .use)
  }

  @Test("another host's clock may be a minute ahead")
  func skew() {
    #expect(decide(-60) == .use)
    #expect(decide(-61) == .mint)
  }

  @Test("while APNs takes no new tokens the old one is used for its hour, then waited")
  func refused() {
    #expect(decide(2700, refusedFor: 1) == .use)
    #expect(decide(3599, refusedFor: 600) == .use)
    #expect(decide(3600, refusedFor: 600) == .wait(until: UnixMilliseconds(now.value + 600_000)))
    #expect(decide(3600, refusedFor: 0) == .mint)
    #expect(decide(nil, refusedFor: 600) == .wait(until: UnixMilliseconds(now.value + 600_000)))
  }

  @Test("a refusal further ahead than any can be does not hold")
  func absurdRefusal() {
    #expect(decide(2700, refusedFor: 1261) == .mint)
    #expect(decide(2700, refusedFor: 1260) == .use)
  }

  @Test("after ExpiredProviderToken only a token of 20 minutes or more is replaced")
  func expired() {
    let answer = { (wall: Int, monotonic: Int?) in
      ProviderTokenPolicy.afterExpired(
        age: Age(wall: .seconds(wall), monotonic: monotonic.map { .seconds($0) }),
        refusedUntil: nil, now: now)
    }
    #expect(answer(1200, nil) == .mint)
    #expect(answer(1199, nil) == .sameTokenOnNewConnection)
    #expect(answer(0, 1200) == .mint)
    #expect(answer(-1800, 60) == .sameTokenOnNewConnection)
    #expect(
      ProviderTokenPolicy.afterExpired(
        age: Age(wall: .seconds(1300)), refusedUntil: UnixMilliseconds(now.value + 1000), now: now)
        == .sameTokenOnNewConnection)
  }
}
