import Foundation
import Operations
import PushCore
import Support
import Testing

@testable import APNs

@Suite("Sharing provider tokens", .timeLimit(.minutes(1)))
struct ProviderTokensTests {
  private let clocks = DrivenClocks()
  private let memory = ProviderTokenMemory()
  private var tokens: ProviderTokens { ProviderTokens(store: memory, clocks: clocks) }

  @Test(
    "one token serves every push for 45 minutes, counted from its making and not from the start")
  func reuse() async throws {
    let key = try ProviderTokenTests.key()
    let tokens = tokens
    clocks.advance(by: .seconds(2700))
    let first = try await tokens.token(for: key)
    #expect(first.issuedAt == clocks.wallTime().seconds)

    clocks.advance(by: .seconds(2699))
    #expect(try await tokens.token(for: key) == first)
    #expect(tokens.current(key) == first)

    clocks.advance(by: .seconds(1))
    #expect(tokens.current(key) == nil)
    #expect(try await tokens.token(for: key).issuedAt == first.issuedAt + 2700)
  }

  @Test("a second process finds the token of the first")
  func shared() async throws {
    let key = try ProviderTokenTests.key()
    let first = try await tokens.token(for: key)
    clocks.advance(by: .seconds(1800))
    #expect(try await tokens.token(for: key) == first)
  }

  @Test("many tasks at once mint once")
  func concurrent() async throws {
    let key = try ProviderTokenTests.key()
    let tokens = tokens
    let found = try await withThrowingTaskGroup(of: ProviderToken.self) { group in
      for _ in 0..<50 { group.addTask { try await tokens.token(for: key) } }
      var found: Set<ProviderToken> = []
      for try await token in group { found.insert(token) }
      return found
    }
    #expect(found.count == 1)
  }

  @Test("another team, key id or key has a token of its own")
  func apart() async throws {
    let tokens = tokens
    let first = try await tokens.token(for: try ProviderTokenTests.key())
    #expect(try await tokens.token(for: try ProviderTokenTests.key(id: "OTHERKEY01")) != first)
    #expect(try await tokens.token(for: try ProviderTokenTests.key(team: "OTHERTEAM1")) != first)
  }

  @Test("a clock set back by half an hour neither renews early nor keeps the token beyond its time")
  func clockSetBack() async throws {
    let key = try ProviderTokenTests.key()
    let tokens = tokens
    let first = try await tokens.token(for: key)
    clocks.advance(by: .seconds(600))
    clocks.stepWall(by: .seconds(-1800))
    // Now the token is dated 20 minutes ahead, and 10 minutes have passed: APNs would take no new one yet.
    #expect(try await tokens.token(for: key) == first)

    clocks.advance(by: .seconds(600))
    let second = try await tokens.token(for: key)
    #expect(second != first)
    #expect(second.issuedAt == clocks.wallTime().seconds)
  }

  @Test("a damaged record is replaced")
  func damaged() async throws {
    let key = try ProviderTokenTests.key()
    let now = clocks.wallTime().seconds
    _ = try await memory.providerToken(of: key.identity) { _ in
      ProviderTokenRecord(jwt: "damaged", issuedAt: now, refusedUntil: nil)
    }
    #expect(try await tokens.token(for: key).jwt.utf8.count == 184)
  }

  @Test(
    "ExpiredProviderToken for a token of 20 minutes mints once, however many pushes had that answer"
  )
  func expired() async throws {
    let key = try ProviderTokenTests.key()
    let tokens = tokens
    let first = try await tokens.token(for: key)
    clocks.advance(by: .seconds(1200))
    let second = try await tokens.token(for: key, afterExpired: first)
    #expect(second.issuedAt == first.issuedAt + 1200)
    for _ in 0..<5 { #expect(try await tokens.token(for: key, afterExpired: first) == second) }
  }

  @Test("ExpiredProviderToken for a young token mints nothing")
  func expiredTooYoung() async throws {
    let key = try ProviderTokenTests.key()
    let tokens = tokens
    let first = try await tokens.token(for: key)
    clocks.advance(by: .seconds(1199))
    #expect(try await tokens.token(for: key, afterExpired: first) == first)
  }

  @Test(
    "after TooManyProviderTokenUpdates the token before is presented, and none is made for 20 minutes"
  )
  func tooMany() async throws {
    let key = try ProviderTokenTests.key()
    let tokens = tokens
    let first = try await tokens.token(for: key)
    clocks.advance(by: .seconds(2700))
    let second = try await tokens.token(for: key)
    #expect(second != first)

    try await tokens.tooManyUpdates(key, presented: second)
    #expect(try await tokens.token(for: key) == first)

    clocks.advance(by: .seconds(900))
    #expect(try await tokens.token(for: key) == second)
    // The other processes know it too.
    let record = try await memory.providerToken(of: key.identity) {
      $0 ?? .init(jwt: "", issuedAt: 0, refusedUntil: nil)
    }
    #expect(record.refusedUntil == UnixMilliseconds((second.issuedAt + 1200) * 1000))
  }

  @Test(
    "a token that is too old while APNs takes none is waited for, with a word on who else may mint")
  func wait() async throws {
    let key = try ProviderTokenTests.key()
    let tokens = tokens
    let first = try await tokens.token(for: key)
    clocks.advance(by: .seconds(2690))
    try await tokens.tooManyUpdates(key, presented: first)
    clocks.advance(by: .seconds(910))

    let failure = try await #require(throws: ProviderTokenFailure.self) {
      try await tokens.token(for: key)
    }
    #expect(failure.message.contains("another 290 s"))
    #expect(failure.remedy.contains("another program"))
    #expect(failure.retryAfter == .seconds(290))

    clocks.advance(by: .seconds(290))
    #expect(try await tokens.token(for: key).issuedAt == first.issuedAt + 3890)
  }
}
