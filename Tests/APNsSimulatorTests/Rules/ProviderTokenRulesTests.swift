import OpenSSL
import Operations
import Testing

@testable import APNsSimulator

@Suite("Rules of the provider token")
struct ProviderTokenRulesTests {
  @Test("the fixtures have all their rows")
  func rows() {
    #expect(SimulatorFixture.rows("provider-tokens.tsv").count == 54)
    #expect(SimulatorFixture.rows("jwt-mock-answers.tsv").count == 14)
    #expect(SimulatorFixture.rows("jwt-vectors.tsv").count == 9)
  }

  @Test("each provider token gets the answer of its row", arguments: SimulatorFixture.rows("provider-tokens.tsv"))
  func vectors(row: FixtureRow) throws {
    let clock = try #require(Int64(row["clock"]))
    var rules = try SimulatorFixture.rules()

    let answer = rules.answer(
      to: .sample(["authorization": row["authorization"]]), at: UnixMilliseconds(clock * 1000))

    #expect(answer == row["answer"])
  }

  @Test(
    "each faulty JWT of real senders gets the answer of its row",
    arguments: SimulatorFixture.rows("jwt-mock-answers.tsv"))
  func faultsOfSenders(row: FixtureRow) throws {
    let key = try ProviderKey(
      teamID: "DEF123GHIJ", keyID: "ABC123DEFG", publicKey: SimulatorFixture.publicKey("vectors-public.pem"))
    var rules = RequestRules(providerTokens: ProviderTokenRules(keys: [key]))

    let verdict = rules.judge(
      .sample(["authorization": "bearer \(row["jwt"])", "apns-expiration": "0"]),
      now: UnixMilliseconds(1_700_000_100_000))

    // The column says "200 (…)", "403 (…)" or "403 Reason (…)".
    let words = row["mock answer"].split(separator: " ").map(String.init)
    #expect(String(verdict.status) == words.first)
    if words.count > 1, !words[1].hasPrefix("(") { #expect(verdict.rejection?.reason.rawValue == words[1]) }
  }

  @Test(
    "a signature is verified as 64 raw bytes, and its DER form is refused",
    arguments: SimulatorFixture.rows("jwt-vectors.tsv"))
  func signatures(row: FixtureRow) throws {
    let signingInput =
      "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ.eyJpc3MiOiJERUYxMjNHSElKIiwiaWF0IjoxNzAwMDAwMDAwfQ"
    let key = try ProviderKey(
      teamID: "DEF123GHIJ", keyID: "ABC123DEFG", publicKey: SimulatorFixture.publicKey("vectors-public.pem"))
    var rules = RequestRules(providerTokens: ProviderTokenRules(keys: [key]))
    let now = UnixMilliseconds(1_700_000_100_000)
    let hexadecimal = row["der_hex"].utf8.compactMap(\.hexDigitValue)
    let der = stride(from: 0, to: hexadecimal.count, by: 2).map { hexadecimal[$0] << 4 | hexadecimal[$0 + 1] }

    let refused = rules.answer(
      to: .sample(["authorization": "bearer \(signingInput).\(Base64URL.encode(der))"]), at: now)
    let accepted = rules.answer(
      to: .sample(["authorization": "bearer \(signingInput).\(row["jwt_signature_b64url"])"]), at: now)

    #expect(refused == "InvalidProviderToken")
    #expect(accepted == "200")
  }

  @Test("a request without authorization is refused before anything about its device token")
  func authorizationFirst() throws {
    var rules = try SimulatorFixture.rules()

    for path in ["/3/device/", "/3/device/zz", "/3/device/0a"] {
      #expect(rules.answer(to: .sample(path: path, ["authorization": nil])) == "MissingProviderToken")
      #expect(rules.answer(to: .sample(path: path, ["authorization": "bearer a.b.c"])) == "InvalidProviderToken")
    }
  }

  @Test("a second token within 20 minutes of the first is refused, and the first stays good")
  func updateTooSoon() throws {
    var rules = try SimulatorFixture.rules()
    let tokens = try vectors("V1", "V2", "V3")

    let answers = [
      rules.answer(to: .sample(["authorization": tokens[0]]), at: SimulatorFixture.time(0)),
      rules.answer(to: .sample(["authorization": tokens[1]]), at: SimulatorFixture.time(182)),
      rules.answer(to: .sample(["authorization": tokens[0]]), at: SimulatorFixture.time(183)),
      rules.answer(to: .sample(["authorization": tokens[1]]), at: SimulatorFixture.time(1199)),
      rules.answer(to: .sample(["authorization": tokens[1]]), at: SimulatorFixture.time(1200)),
      rules.answer(to: .sample(["authorization": tokens[2]]), at: SimulatorFixture.time(1201)),
      rules.answer(to: .sample(["authorization": tokens[0]]), at: SimulatorFixture.time(1202)),
    ]

    #expect(
      answers == [
        "200", "TooManyProviderTokenUpdates", "200", "TooManyProviderTokenUpdates", "200",
        "TooManyProviderTokenUpdates", "200",
      ])
  }

  @Test("a key's first token counts from its iat, since it may have been in use before the simulator started")
  func firstTokenCountsFromItsIssue() throws {
    var rules = try SimulatorFixture.rules()
    let tokens = try vectors("V1", "V2")

    let first = rules.answer(to: .sample(["authorization": tokens[0]]), at: SimulatorFixture.time(1300))
    let second = rules.answer(to: .sample(["authorization": tokens[1]]), at: SimulatorFixture.time(1301))

    #expect([first, second] == ["200", "200"])
  }

  @Test("a key of the other environment is refused")
  func otherEnvironment() throws {
    var rules = try SimulatorFixture.rules(environment: .development)

    #expect(rules.answer(to: .sample()) == "BadEnvironmentKeyInToken")
    #expect(rules.answer(to: .sample(environment: .development)) == "200")
  }

  private func vectors(_ names: String...) throws -> [String] {
    try names.map { name in
      try #require(SimulatorFixture.rows("provider-tokens.tsv").first { $0["name"] == name }?["authorization"])
    }
  }
}
