import OpenSSL
import Testing

@testable import APNsSimulator

@Suite("What a connection is bound to")
struct ConnectionBindingTests {
  /// Keys of two teams: `T1`, `T2` for all topics; `A`, `B`, `C` for apps of their own; `B` is related to `A`, as `D` is.
  private static func key(_ id: String) throws -> ProviderKey {
    var key = ProviderKey(
      teamID: id == "OTHER" ? "OTHERTEAM1" : "TESTTEAM01", keyID: id,
      publicKey: try SimulatorFixture.publicKey("testkey001-public.pem"))
    switch id {
    case "A": key.scope = .topics(["com.example.app"], relatedKeyID: "D")
    case "B": key.scope = .topics(["com.example.app"], relatedKeyID: "A")
    case "C", "D": key.scope = .topics(["com.example.app"], relatedKeyID: nil)
    default: break
    }
    return key
  }

  /// What each of several keys in turn is told on one connection.
  private func answers(_ ids: [String]) throws -> [String] {
    var connection = ConnectionBinding()
    return try ids.map { id in
      let key = try Self.key(id)
      do throws(Rejection) {
        try connection.bind(to: key)
        return "ok"
      } catch {
        return error.reason.rawValue
      }
    }
  }

  @Test(
    "the first key decides which others may follow",
    arguments: [
      (["T1", "T1", "T2"], ["ok", "ok", "ok"]),
      (["T1", "OTHER", "T1"], ["ok", "InvalidProviderToken", "ok"]),
      (["T1", "A"], ["ok", "UnrelatedKeyIdInToken"]),
      (["A", "T1"], ["ok", "UnrelatedKeyIdInToken"]),
      (["A", "A", "C", "A"], ["ok", "ok", "UnrelatedKeyIdInToken", "ok"]),
      (["A", "B", "D"], ["ok", "ok", "ok"]),
      (["D", "A"], ["ok", "ok"]),
      // Both are related to the same key and not to each other.
      (["B", "D"], ["ok", "UnrelatedKeyIdInToken"]),
      (["OTHER", "A"], ["ok", "InvalidProviderToken"]),
    ])
  func order(keys: [String], expected: [String]) throws {
    #expect(try answers(keys) == expected)
  }

  @Test("a topic-specific key is for its bundle ids with every suffix, and no others")
  func topics() throws {
    var key = try Self.key("A")
    key.keyID = "TESTKEY001"
    var rules = RequestRules(providerTokens: ProviderTokenRules(keys: [key]))

    let answers = [
      rules.answer(to: .sample()),
      rules.answer(to: .sample(["apns-topic": "com.example.app.voip", "apns-push-type": "voip"])),
      rules.answer(to: .sample(["apns-topic": "com.example.other"])),
    ]

    #expect(answers == ["200", "200", "TopicDisallowed"])
  }

  @Test("a request that is refused for its provider token binds nothing; one refused for its push does")
  func firstValidToken() throws {
    var rules = try SimulatorFixture.rules()
    let otherTeam = try Self.key("OTHER")
    var refused = ConnectionBinding()
    var bound = ConnectionBinding()

    _ = rules.judge(.sample(["authorization": "bearer a.b.c"]), on: &refused, now: SimulatorFixture.time(100))
    _ = rules.judge(.sample(["apns-priority": "high"]), on: &bound, now: SimulatorFixture.time(100))

    #expect(throws: Never.self) { try refused.bind(to: otherTeam) }
    #expect(throws: Rejection(.invalidProviderToken)) { try bound.bind(to: otherTeam) }
  }
}
