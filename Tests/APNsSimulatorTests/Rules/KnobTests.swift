import OpenSSL
import Operations
import Support
import Testing

@testable import APNsSimulator

@Suite("Knobs for what Apple leaves open")
struct KnobTests {
  private func knobs(_ texts: String...) throws -> Knobs {
    var knobs = Knobs()
    for text in texts { try knobs.set(text) }
    return knobs
  }

  @Test("every knob can be turned, and back")
  func turned() throws {
    let usual = Knobs()
    var turned = Knobs()
    turned.acceptsDER = true
    turned.tokenUpdates = .connection
    turned.futureIssueTolerance = .seconds(300)
    turned.makesLowerCaseIDs = true
    turned.rejectsMalformedJSON = true
    let away = ["der=accept", "token_updates=connection", "future_iat=5m", "message_id=lower", "malformed_json=reject"]
    let back = ["der=reject", "token_updates=key", "future_iat=60s", "message_id=upper", "malformed_json=accept"]

    var knobs = Knobs()
    for text in away { try knobs.set(text) }
    #expect(knobs == turned)
    for text in back { try knobs.set(text) }
    #expect(knobs == usual)
    #expect(away.count == Knob.all.count)
  }

  @Test(
    "what is no knob or none of its values is refused with what is right",
    arguments: [
      ("dr=accept", "there is no 'dr'; the nearest is 'der'"),
      ("tokens_update=key", "there is no 'tokens_update'; the nearest is 'token_updates'"),
      ("=accept", "there is no 'accept'; the nearest is 'der'"),
      ("der", "der must be reject or accept, not ''"),
      ("der=yes", "der must be reject or accept, not 'yes'"),
      ("token_updates=ip", "token_updates must be key or connection, not 'ip'"),
      ("future_iat=60", "future_iat must be 60s or DURATION, not '60'"),
    ])
  func refused(text: String, message: String) {
    let error = #expect(throws: KnobError.self) { try knobs(text) }
    #expect(error?.description == message)
  }

  @Test(
    "der=accept takes both forms of a signature, of the right key alone",
    arguments: SimulatorFixture.rows("jwt-vectors.tsv"))
  func der(row: FixtureRow) throws {
    let signingInput =
      "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQzEyM0RFRkcifQ.eyJpc3MiOiJERUYxMjNHSElKIiwiaWF0IjoxNzAwMDAwMDAwfQ"
    let digits = row["der_hex"].utf8.compactMap(\.hexDigitValue)
    let der = stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    func answer(_ signature: [UInt8], key: String) throws -> String {
      let key = try ProviderKey(
        teamID: "DEF123GHIJ", keyID: "ABC123DEFG", publicKey: SimulatorFixture.publicKey(key))
      var rules = RequestRules(providerTokens: ProviderTokenRules(keys: [key]))
      rules.knobs = try knobs("der=accept")
      return rules.answer(
        to: .sample(["authorization": "bearer \(signingInput).\(Base64URL.encode(signature))"]),
        at: UnixMilliseconds(1_700_000_100_000))
    }

    #expect(try answer(der, key: "vectors-public.pem") == "200")
    #expect(try answer(try #require(Base64URL.decode(row["jwt_signature_b64url"])), key: "vectors-public.pem") == "200")
    #expect(try answer(der, key: "testkey001-public.pem") == "InvalidProviderToken")
    #expect(try answer(Array(der.dropLast()), key: "vectors-public.pem") == "InvalidProviderToken")
  }

  @Test(
    "token_updates: 20 minutes are counted for a key over all connections, or for each connection",
    arguments: [("key", "TooManyProviderTokenUpdates"), ("connection", "200")])
  func tokenUpdates(value: String, onAnother: String) throws {
    let tokens = try ["V1", "V2"].map { name in
      try #require(SimulatorFixture.rows("provider-tokens.tsv").first { $0["name"] == name }?["authorization"])
    }
    var rules = try SimulatorFixture.rules()
    rules.knobs = try knobs("token_updates=\(value)")
    var first = ConnectionBinding()
    var second = ConnectionBinding()
    func answer(_ token: String, _ connection: inout ConnectionBinding, _ seconds: Int64) -> String {
      rules.judge(.sample(["authorization": token]), on: &connection, now: SimulatorFixture.time(seconds))
        .rejection?.reason.rawValue ?? "200"
    }

    let answers = [
      answer(tokens[0], &first, 0), answer(tokens[1], &first, 182), answer(tokens[1], &second, 183),
    ]

    #expect(answers == ["200", "TooManyProviderTokenUpdates", onAnother])
  }

  @Test("future_iat: how far ahead iat may be", arguments: [("0s", 0), ("60s", 60), ("5m", 300)])
  func futureIssue(value: String, seconds: Int64) throws {
    func answer(ahead: Int64) throws -> String {
      var rules = try SimulatorFixture.rules()
      rules.knobs = try knobs("future_iat=\(value)")
      return rules.answer(to: .sample(["apns-expiration": "0"]), at: SimulatorFixture.time(-ahead))
    }

    #expect(try answer(ahead: seconds) == "200")
    #expect(try answer(ahead: seconds + 1) == "InvalidProviderToken")
  }

  @Test(
    "malformed_json: what is no JSON object is a warning, or refused",
    arguments: ["{'aps':{}}", "[]", "\u{FEFF}{}", "{\"aps\":{},}"])
  func malformedJSON(body: String) throws {
    var rules = try SimulatorFixture.rules()

    let usual = rules.answer(to: .sample(body: body))
    rules.knobs = try knobs("malformed_json=reject")
    let strict = rules.answer(to: .sample(body: body))
    let sound = rules.answer(to: .sample(body: #"{"aps":{"x":1}}"#))

    #expect([usual, strict, sound] == ["200", "BadRequestPayload", "200"])
  }

  @Test(
    "message_id: the case of the ids that the simulator makes, without checks too", .timeLimit(.minutes(1)),
    arguments: [true, false])
  func messageID(checks: Bool) async throws {
    let upper = try await SimulatorProcess(checks: checks)
    let lower = try await SimulatorProcess(["--knob", "message_id=lower"], checks: checks, logs: false)

    let ids = [
      try #require(try await upper.push("0a").headers["apns-id"]),
      try #require(try await lower.push("0a").headers["apns-id"]),
    ]

    // Every id has letters among its digits, but for one in three million.
    #expect(ids[0] == ids[0].uppercased() && ids[0] != ids[0].lowercased(), "\(ids)")
    #expect(ids[1] == ids[1].lowercased() && ids[1] != ids[1].uppercased(), "\(ids)")
  }
}
