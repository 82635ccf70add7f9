import HTTP2
import OpenSSL
import Operations
import PushCore
import Support
import Testing

@testable import APNs

@Suite("Sending to a server that answers by a script", .timeLimit(.minutes(1)))
struct APNsSenderTests {
  private func reason(_ text: String) throws -> PushReason {
    .known(try #require(ReasonTable.id(of: text)))
  }

  @Test("a push carries method, path, every header once and the payload, and its answer comes back")
  func wholeRequest() async throws {
    let server = try await ScriptedAPNs { _ in ScriptedAPNs.Answer(uniqueID: "u-1") }
    let sender = try TestSender(server)
    let batch = TestSender.batch(
      headers: PushHeaders(pushType: .alert, priority: .powerConscious, collapseID: "chat"))

    let answers = try await sender.send(batch)

    #expect(answers.map(\.verdict) == [.accepted])
    #expect(answers[0].status == 200)
    #expect(answers[0].batch == 1)
    #expect(answers[0].apnsUniqueID == "u-1")
    #expect(answers[0].latencyMilliseconds >= 0)
    let request = try #require(server.asked.first)
    #expect(request.body == "{\"aps\":{\"alert\":\"x\"}}")
    let token = try await sender.tokens.token(for: try ProviderTokenTests.key())
    #expect(
      request.fields == [
        ":method": "POST", ":scheme": "https", ":authority": "localhost:\(server.port)",
        ":path": "/3/device/" + String(decoding: TestSender.token(1), as: UTF8.self),
        "authorization": "bearer \(token.jwt)", "apns-topic": "com.example.app",
        "apns-push-type": "alert",
        "apns-priority": "5", "apns-expiration": "\(batch.content.expiresAt.seconds)",
        "apns-collapse-id": "chat",
        "apns-id": try APNsID.make(notification: NotificationID(42), device: DeviceID(1)),
      ])
  }

  @Test(
    "where recipients have values of their own each device gets its own payload, over many streams and flow-control windows"
  )
  func personalPayloads() async throws {
    let server = try await ScriptedAPNs { _ in .accepted }
    let sender = try TestSender(server)
    let plain = TestSender.batch(600)
    let payload = #"{"aps":{"alert":"Hi {{name}}"}}"#
    var target = Target(users: ["u0", "u1", "u2"])
    var values = RecipientValues(names: ["name"])
    let names = ["", "é\\\"", String(repeating: "x", count: 4000)]
    values.users = names.map { [PayloadTemplate.escaped($0)] }
    let substitutions = Substitutions(values, of: target, interests: [], devices: [])
    target.users = []
    var devices = DeviceWindow()
    for index in 0..<600 { devices.append(index, of: plain.devices, entry: index % 3) }
    var batch = plain
    batch.devices = devices
    batch.content.payload = Array(payload.utf8)
    batch.content.personal = PersonalPayload(Array(payload.utf8), substitutions)

    let answers = try await sender.send(batch)
    _ = try await sender.send(TestSender.batch(1, id: 2, notification: 43, payload: "{\"aps\":{}}"))

    #expect(answers.allSatisfy { $0.verdict == .accepted })
    let bodies = Dictionary(server.asked.map { ($0.path.suffix(3), $0.body) }) { first, _ in first }
    #expect(bodies.count == 600 && server.asked.count == 601)
    for (index, name) in names.enumerated() {
      let expected = payload.split(separator: "{{name}}").map(String.init)
      let body = expected[0] + String(decoding: PayloadTemplate.escaped(name), as: UTF8.self) + expected[1]
      #expect(server.asked.count { $0.body == body } == 200)
      let path = TestSender.token(index + 1).suffix(3)
      #expect(bodies[Substring(String(decoding: path, as: UTF8.self))] == body)
    }
    #expect(server.asked.last?.body == "{\"aps\":{}}")
  }

  @Test("six thousand pushes in several batches carry one provider token and come back once each")
  func manyBatches() async throws {
    let server = try await ScriptedAPNs()
    let sender = try TestSender(server)
    for number in 1...6 {
      sender.sender.send(TestSender.batch(1000, id: UInt64(number), notification: Int64(number)))
    }

    let answers = try await sender.answers(6000)

    #expect(answers.count == 6000)
    #expect(answers.allSatisfy { $0.verdict == .accepted })
    #expect(Set(answers.map { "\($0.batch) \($0.index)" }).count == 6000)
    #expect(Set(server.asked.map(\.providerToken)).count == 1)
    #expect(Set(server.asked.map { "\($0.path) \($0.fields["apns-id"] ?? "")" }).count == 6000)
    #expect(Set(server.asked.compactMap { $0.fields["apns-id"] }).count == 6000)
  }

  @Test("an apns-id of the sender's own is sent as it is")
  func chosenID() async throws {
    let server = try await ScriptedAPNs()
    let sender = try TestSender(server)
    let id = "123e4567-e89b-12d3-a456-4266554400a0"
    _ = try await sender.send(
      TestSender.batch(headers: PushHeaders(pushType: .alert, priority: .immediate, apnsID: id)))
    #expect(server.asked.first?.fields["apns-id"] == id)
  }

  @Test("each answer is read for itself, and a bad device stops no other")
  func mixedAnswers() async throws {
    let server = try await ScriptedAPNs { request in
      switch request.path.last {
      case "2": .refused(400, "BadDeviceToken")
      case "3":
        ScriptedAPNs.Answer(status: 410, reason: "Unregistered", timestamp: 1_700_000_000_000)
      case "4": ScriptedAPNs.Answer(status: 503, reason: "ServiceUnavailable", retryAfter: "7")
      case "5": .refused(429, "TooManyRequests")
      case "6": .refused(400, "BrandNew")
      default: .accepted
      }
    }
    let sender = try TestSender(server)

    let answers = try await sender.send(TestSender.batch(7))

    #expect(
      answers.map(\.verdict) == [
        .accepted, .unfit(try reason("BadDeviceToken")),
        .gone(try reason("Unregistered"), registeredBefore: UnixMilliseconds(1_700_000_000_000)),
        .retry(try reason("ServiceUnavailable"), notBefore: .seconds(7)),
        .retry(try reason("TooManyRequests"), notBefore: .seconds(60)),
        .rejected(.unknown("BrandNew")), .accepted,
      ])
    #expect(answers.map(\.status) == [200, 400, 410, 503, 429, 400, 200])
    #expect(server.asked.count == 7)
  }

  @Test(
    "ExpiredProviderToken for an old token: minted once, each push repeated once on a new connection, accepted"
  )
  func expiredOnce() async throws {
    let old = try await ScriptedAPNs.expiring()
    let clocks = DrivenClocks()
    let sender = try TestSender(old.server, clocks: clocks)
    let first = try await sender.tokens.token(for: try ProviderTokenTests.key())
    clocks.advance(by: .seconds(1200))
    old.refused.update { $0 = ["bearer \(first.jwt)"] }

    let answers = try await sender.send(TestSender.batch(50))

    // What was not on the connection at the first refusal is withdrawn, and offered again by the worker.
    #expect(answers.allSatisfy { $0.verdict == .accepted || $0.isWithdrawn })
    #expect(answers.contains { $0.verdict == .accepted })
    let asked = old.server.asked
    let refused = asked.filter { $0.providerToken == "bearer \(first.jwt)" || $0.providerToken == first.jwt }
    let repeated = asked.filter { request in !refused.contains { $0.connection == request.connection } }
    #expect(Set(asked.compactMap(\.providerToken)).count == 2)
    #expect(refused.count == repeated.count && refused.count + repeated.count == asked.count)
    // The repeat has the same apns-id.
    #expect(
      Set(refused.compactMap { $0.fields["apns-id"] }) == Set(repeated.compactMap { $0.fields["apns-id"] }))
  }

  @Test(
    "ExpiredProviderToken always: nothing is minted, each push is sent twice, and the key is held with the clock as advice"
  )
  func expiredAlways() async throws {
    let server = try await ScriptedAPNs { _ in .refused(403, "ExpiredProviderToken") }
    let sender = try TestSender(server, clocks: DrivenClocks())

    let answers = try await sender.send(TestSender.batch(20))

    let expired = try #require(ReasonTable.id(of: "ExpiredProviderToken"))
    let held = answers.filter { !$0.isWithdrawn }
    #expect(!held.isEmpty && held.allSatisfy { $0.verdict == .held(.key, .known(expired)) && $0.status == 403 })
    // Each of them was sent twice; what waited meanwhile was withdrawn before its first or its second sending.
    #expect(server.asked.count >= held.count * 2 && server.asked.count <= 40)
    #expect(Set(server.asked.compactMap(\.providerToken)).count == 1)
    #expect(ReasonTable.remedy(of: expired)?.contains("system clock") == true)
  }

  @Test(
    "an answer that asks for a new connection is repeated once on one, and then it is the worker's",
    arguments: [(503, "Shutdown"), (400, "IdleTimeout"), (403, "UnrelatedKeyIdInToken")])
  func reconnect(status: Int, text: String) async throws {
    let server = try await ScriptedAPNs { $0.connection == 1 ? .refused(status, text) : .accepted }
    let sender = try TestSender(server)
    #expect(try await sender.send(TestSender.batch(30)).allSatisfy { $0.verdict == .accepted })
    #expect(server.asked.count == 60)
    #expect(Set(server.asked.map(\.connection)).count == 2)

    let stubborn = try await ScriptedAPNs { _ in .refused(status, text) }
    let second = try TestSender(stubborn)
    let verdict: Verdict =
      status == 403 ? .held(.app, try reason(text)) : .retry(try reason(text), notBefore: nil)
    #expect(try await second.send(TestSender.batch(1)).map(\.verdict) == [verdict])
    #expect(stubborn.asked.count == 2)
  }

  @Test(
    "TooManyProviderTokenUpdates: the push waits, the token before is presented, and nothing is minted"
  )
  func tooManyUpdates() async throws {
    let clocks = DrivenClocks()
    let old = try await ScriptedAPNs.expiring(.refused(429, "TooManyProviderTokenUpdates"))
    let sender = try TestSender(old.server, clocks: clocks)
    let key = try ProviderTokenTests.key()
    let first = try await sender.tokens.token(for: key)
    clocks.advance(by: .seconds(2700))
    let second = try await sender.tokens.token(for: key)
    old.refused.update { $0 = ["bearer \(second.jwt)"] }

    let answers = try await sender.send(TestSender.batch(5))
    #expect(
      answers.allSatisfy {
        $0.verdict
          == .retry(
            .known(ReasonTable.id(of: "TooManyProviderTokenUpdates") ?? .none),
            notBefore: .seconds(30))
      })

    try await eventually("the token before is presented") { sender.tokens.current(key) == first }
    let again = try await sender.send(TestSender.batch(5, id: 2))
    #expect(again.allSatisfy { $0.verdict == .accepted })
    #expect(
      Set(old.server.asked.compactMap(\.providerToken)) == [
        "bearer \(first.jwt)", "bearer \(second.jwt)",
      ])
  }

  @Test("a refused key is held, and its next push after the refusal uses a new connection")
  func heldKey() async throws {
    let clocks = DrivenClocks()
    let server = try await ScriptedAPNs {
      $0.connection == 1 ? .refused(403, "InvalidProviderToken") : .accepted
    }
    let sender = try TestSender(server, clocks: clocks)
    #expect(
      try await sender.send(TestSender.batch(3)).allSatisfy {
        $0.verdict == .held(.key, .known(ReasonTable.id(of: "InvalidProviderToken") ?? .none))
      })
    #expect(server.asked.count == 3)

    clocks.advance(by: .seconds(6))
    #expect(
      try await sender.send(TestSender.batch(3, id: 2)).allSatisfy { $0.verdict == .accepted })
  }

  @Test("urgent pushes have a connection of their own, and so has each environment")
  func connections() async throws {
    let server = try await ScriptedAPNs()
    let sandbox = Credential(
      id: CredentialID(2), appID: AppID(1), topic: "com.example.app", environment: .sandbox,
      teamID: nil, keyID: nil,
      heldSince: nil, heldReason: nil)
    let sender = try TestSender(
      port: server.port, authorityFile: server.authorityFile,
      credentials: [TestSender.production, sandbox])
    for _ in 0..<2 {
      _ = try await sender.send(TestSender.batch(1))
      _ = try await sender.send(TestSender.batch(1, id: 2, lane: .urgent))
      _ = try await sender.send(TestSender.batch(1, id: 3, credential: CredentialID(2)))
    }
    let connections = server.asked.map(\.connection)
    #expect(Set(connections.prefix(3)).count == 3)
    #expect(Array(connections.prefix(3)) == Array(connections.suffix(3)))
  }

  @Test("a request that is reset may have arrived: it is tried again, not called unsent")
  func reset() async throws {
    let server = try await ScriptedAPNs { request in
      request.path.last == "1" ? ScriptedAPNs.Answer(outcome: .reset(errorCode: 2)) : .accepted
    }
    let answers = try await TestSender(server).send(TestSender.batch(2))
    #expect(answers.map(\.verdict) == [.retry(.known(.connectionLost), notBefore: nil), .accepted])
    #expect(answers.map(\.status) == [0, 200])
    #expect(answers[0].latencyMilliseconds == -1)
  }

  @Test("a request that is never answered may have arrived, and says that its time was over")
  func silence() async throws {
    let server = try await ScriptedAPNs { _ in ScriptedAPNs.Answer(outcome: .silence) }
    let sender = try TestSender(
      port: server.port, authorityFile: server.authorityFile,
      configure: { $0.requestTimeout = .milliseconds(200) })
    let answers = try await sender.send(TestSender.batch(2))
    #expect(answers.map(\.verdict) == Array(repeating: .retry(.known(.timeout), notBefore: nil), count: 2))
  }

  @Test("unknown credentials and credentials without a key are answered, not crashed on")
  func noKey() async throws {
    let server = try await ScriptedAPNs()
    var other = TestSender.production
    other.id = CredentialID(2)
    other.topic = "com.example.other"
    other.keyID = "OTHERKEY01"
    let sender = try TestSender(
      port: server.port, authorityFile: server.authorityFile,
      credentials: [TestSender.production, other])
    for credential in [CredentialID(2), CredentialID(99)] {
      let answers = try await sender.send(TestSender.batch(2, credential: credential))
      for answer in answers {
        guard case .unsent(let failure, _) = answer.verdict else {
          Issue.record("\(answer.verdict)")
          continue
        }
        #expect(failure.kind == .credential)
        #expect(failure.remedy.contains("key_file"))
      }
    }
    #expect(server.asked.isEmpty)
    #expect(!sender.sender.canSign(other))
  }

  @Test("a topic with a push type's suffix is signed by its app's key")
  func suffixedTopics() throws {
    let sender = try TestSender(port: 1, authorityFile: nil)
    var credential = TestSender.production
    credential.teamID = nil
    credential.keyID = nil
    for (topic, expected) in [
      ("com.example.app", true), ("com.example.app.voip", true),
      ("com.example.app.push-type.liveactivity", true),
      ("com.example.app.other", false), ("com.example.application", false),
    ] {
      credential.topic = topic
      #expect(sender.sender.canSign(credential) == expected, "\(topic)")
    }
  }

  @Test("a payload header that cannot be sent is refused, not crashed on")
  func badHeader() async throws {
    let sender = try TestSender(port: 1, authorityFile: nil)
    let answers = try await sender.send(
      TestSender.batch(
        2, headers: PushHeaders(pushType: .alert, priority: .immediate, collapseID: "a\nb")))
    #expect(
      answers.map(\.verdict) == [
        .rejected(.unknown("RequestNotSendable")), .rejected(.unknown("RequestNotSendable")),
      ])
  }

  @Test("after closing, everything comes back unsent")
  func closed() async throws {
    let server = try await ScriptedAPNs()
    let sender = try TestSender(server)
    #expect(try await sender.send(TestSender.batch(1)).map(\.verdict) == [.accepted])
    await sender.sender.close(grace: .seconds(1))
    let answers = try await sender.send(TestSender.batch(2))
    #expect(answers.count == 2)
    for answer in answers {
      guard case .unsent(let failure, _) = answer.verdict else {
        Issue.record("\(answer.verdict)")
        continue
      }
      #expect(failure.kind == .notSent)
    }
  }

  @Test("a batch waits for its provider token while another key's batches go on")
  func staleTokenHoldsUpNobodyElse() async throws {
    let server = try await ScriptedAPNs()
    let slow = HeldTokenStore(keyID: "SLOWKEY001")
    var other = TestSender.production
    other.id = CredentialID(2)
    other.topic = "com.example.slow"
    let sender = try TestSender(
      port: server.port, authorityFile: server.authorityFile, store: slow,
      apps: [
        SigningApp(topic: "com.example.app", key: try ProviderTokenTests.key()),
        SigningApp(topic: "com.example.slow", key: try ProviderTokenTests.key(id: "SLOWKEY001")),
      ], credentials: [TestSender.production, other])
    sender.sender.send(TestSender.batch(10, id: 7, credential: CredentialID(2)))
    sender.sender.send(TestSender.batch(10, id: 8, credential: CredentialID(2)))

    #expect(try await sender.send(TestSender.batch(5)).allSatisfy { $0.verdict == .accepted })
    #expect(sender.answerCount == 5)

    slow.release()
    let answers = try await sender.answers(25)
    #expect(answers.allSatisfy { $0.verdict == .accepted })
    #expect(answers.suffix(20).allSatisfy { [7, 8].contains($0.batch) })
  }

  @Test("a store that cannot share the provider token leaves the push unsent, with its own advice")
  func storeFailure() async throws {
    let sender = try TestSender(port: 1, authorityFile: nil, store: FailingTokenStore())
    let answers = try await sender.send(TestSender.batch(1))
    guard case .unsent(let failure, _) = answers[0].verdict else {
      Issue.record("\(answers)")
      return
    }
    #expect(failure.kind == .credential)
    #expect(failure.description.contains("disk full"))
    #expect(failure.remedy == "Free space")
  }

  @Test("a replaced key drops its old connections and keeps the others")
  func replacedKey() async throws {
    let server = try await ScriptedAPNs()
    let sender = try TestSender(server)
    _ = try await sender.send(TestSender.batch(1))
    sender.sender.replaceApps([
      SigningApp(topic: "com.example.app", key: try ProviderTokenTests.key())
    ])
    _ = try await sender.send(TestSender.batch(1, id: 2))
    #expect(Set(server.asked.map(\.connection)).count == 1)

    let other = ProviderKey(
      teamID: "TESTTEAM01", keyID: "TESTKEY001",
      privateKey: try ES256PrivateKey(pem: try Fixture.bytes("keys/key-good.p8")))
    sender.sender.replaceApps([SigningApp(topic: "com.example.app", key: other)])
    _ = try await sender.send(TestSender.batch(1, id: 3))
    #expect(Set(server.asked.map(\.connection)).count == 2)
    #expect(Set(server.asked.compactMap(\.providerToken)).count == 2)
  }
}

extension ScriptedAPNs {
  /// A server that refuses the provider tokens named in the watched list.
  static func expiring(
    _ answer: Answer = .refused(403, "ExpiredProviderToken")
  ) async throws -> (server: ScriptedAPNs, refused: Watched<[String]>) {
    let refused = Watched<[String]>([])
    let server = try await ScriptedAPNs { request in
      refused.current.contains(request.providerToken ?? "") ? answer : .accepted
    }
    return (server, refused)
  }
}

/// A store that lets one key wait until it is released.
private final class HeldTokenStore: ProviderTokenStore {
  private let memory = ProviderTokenMemory()
  private let released = Watched(false)
  private let keyID: String

  init(keyID: String) { self.keyID = keyID }

  func release() { released.update { $0 = true } }

  func providerToken(
    of key: ProviderKeyIdentity,
    decide: @escaping @Sendable (ProviderTokenRecord?) throws(StoreError) -> ProviderTokenRecord
  ) async throws(StoreError) -> ProviderTokenRecord {
    if key.keyID == keyID {
      do {
        _ = try await released.wait("the test releases the store") { $0 }
      } catch {
        throw StoreError(code: .temporary, operation: "wait", underlying: "\(error)", remedy: "")
      }
    }
    return try await memory.providerToken(of: key, decide: decide)
  }
}

private final class FailingTokenStore: ProviderTokenStore {
  func providerToken(
    of key: ProviderKeyIdentity,
    decide: @escaping @Sendable (ProviderTokenRecord?) throws(StoreError) -> ProviderTokenRecord
  ) async throws(StoreError) -> ProviderTokenRecord {
    throw StoreError(
      code: .temporary, operation: "write state", underlying: "disk full", remedy: "Free space")
  }
}

extension PushAnswer {
  /// Whether it was given back before it was on a connection, because the first refusal said enough.
  fileprivate var isWithdrawn: Bool {
    if case .unsent(let failure, _) = verdict { failure.kind == .notSent } else { false }
  }
}
