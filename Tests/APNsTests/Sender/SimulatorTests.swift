import OpenSSL
import Operations
import PushCore
import Support
import Testing

@testable import APNs
@testable import APNsSimulator

@Suite("Sending to the simulator, which checks Apple's rules by itself", .timeLimit(.minutes(1)))
final class SimulatorTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func simulator(
    _ environment: APNsSimulator.Environment = .production,
    change: (inout SimulatorConfiguration) -> Void = { _ in }
  ) async throws -> Simulator {
    let publicKey = try ES256PublicKey(pem: try Fixture.bytes("keys/TESTKEY001-public.pem"))
    let key = APNsSimulator.ProviderKey(
      teamID: "TESTTEAM01", keyID: "TESTKEY001", publicKey: publicKey)
    var configuration = SimulatorConfiguration(
      listeners: [.init(environment)], tlsDirectory: directory.path(of: "tls"),
      rules: RequestRules(providerTokens: ProviderTokenRules(keys: [key])))
    change(&configuration)
    return try await Simulator.start(configuration)
  }

  private func sender(_ simulator: Simulator, apps: [SigningApp]? = nil) throws -> TestSender {
    // One address and one connection: an attempt that loses a race or is given up at the end counts as a violation.
    try TestSender(
      port: simulator.addresses[0].port, authorityFile: directory.path(of: "tls/ca.pem"), host: "127.0.0.1",
      apps: apps, configure: { $0.connections = 1 })
  }

  @Test(
    "two thousand pushes are accepted without a warning, a duplicate or a violation, under one provider token"
  )
  func accepted() async throws {
    let log = directory.path(of: "log")
    let simulator = try await simulator { $0.logPath = log }
    let sender = try sender(simulator)
    sender.sender.send(TestSender.batch(1000, id: 1, notification: 1))
    sender.sender.send(TestSender.batch(1000, id: 2, notification: 2))

    let answers = try await sender.answers(2000)
    await sender.sender.close(grace: .seconds(5))
    let summary = await simulator.stop()

    #expect(answers.allSatisfy { $0.verdict == .accepted })
    #expect(summary.accepted == 2000)
    #expect(summary.duplicates == 0)
    #expect(summary.providerTokens == 1)
    #expect(summary.distinctDevices == 1000)
    #expect(summary.violations.isEmpty)
  }

  @Test(
    "every push type is accepted with the topic, priority and payload that our rules give it",
    arguments: PushCore.PushType.allCases)
  func pushTypes(type: PushCore.PushType) async throws {
    let payload =
      switch type {
      case .alert: "{\"aps\":{\"alert\":\"x\"}}"
      case .background: "{\"aps\":{\"content-available\":1}}"
      case .voip, .complication, .location, .pushtotalk: "{\"aps\":{}}"
      case .fileprovider: "{\"container-identifier\":\"c\",\"domain\":\"d\"}"
      case .mdm: "{\"mdm\":\"magic\"}"
      case .liveactivity:
        "{\"aps\":{\"timestamp\":1767225600,\"event\":\"update\",\"content-state\":{}}}"
      case .widgets, .controls: "{\"aps\":{\"content-changed\":true}}"
      }
    var request = NotificationRequest()
    request.topic = type == .mdm ? "com.apple.mgmt.External.1" : "com.example.app"
    request.pushType = type.rawValue
    request.tokens = [String(decoding: TestSender.token(1), as: UTF8.self)]
    request.payload = Array(payload.utf8)
    if type == .pushtotalk { request.expiration = 0 }
    let publication = try request.publication(
      now: SystemClocks().wallTime(), defaults: NotificationDefaults()
    ).publication
    let log = directory.path(of: "log")
    let simulator = try await simulator { $0.logPath = log }
    var credential = TestSender.production
    credential.topic = publication.topic
    let sender = try sender(simulator)
    sender.sender.learn([credential])

    let answers = try await sender.send(
      TestSender.batch(headers: publication.headers, topic: publication.topic, payload: payload))

    #expect(answers.map(\.verdict) == [.accepted])
    await sender.sender.close(grace: .seconds(5))
    _ = await simulator.stop()
    #expect(!(try String(contentsOfFile: log, encoding: .utf8)).contains("\"warnings\":[\""))
  }

  @Test("the sandbox gives apns-unique-id, which reaches the answer")
  func uniqueID() async throws {
    let simulator = try await simulator(.development)
    let answers = try await sender(simulator).send(TestSender.batch(2))
    #expect(answers.allSatisfy { $0.apnsUniqueID?.count == 36 })
  }

  @Test(
    "a key that the service does not know, or of another team, holds the key",
    arguments: [
      ("OTHERTEAM1", "TESTKEY001"), ("TESTTEAM01", "OTHERKEY01"), ("TESTKEY001", "TESTTEAM01"),
    ])
  func wrongIDs(team: String, key: String) async throws {
    let simulator = try await simulator()
    let signing = SigningApp(
      topic: "com.example.app", key: try ProviderTokenTests.key(team: team, id: key))
    let answers = try await sender(simulator, apps: [signing]).send(TestSender.batch(1))
    #expect(
      answers.map(\.verdict) == [
        .held(.key, .known(ReasonTable.id(of: "InvalidProviderToken") ?? .none))
      ])
  }

  @Test("devices that the service does not know are told apart")
  func devices() async throws {
    let token = { (number: Int) in String(decoding: TestSender.token(number), as: UTF8.self) }
    let simulator = try await simulator { configuration in
      configuration.rules.devices[token(2)] = .unregistered(
        since: UnixMilliseconds(1_700_000_000_123))
      configuration.rules.devices[token(3)] = .bad
      configuration.rules.devices[token(4)] = .otherTopic
    }
    let answers = try await sender(simulator).send(TestSender.batch(4))
    let known = { (text: String) in PushReason.known(ReasonTable.id(of: text) ?? .none) }
    #expect(
      answers.map(\.verdict) == [
        .accepted,
        .gone(known("Unregistered"), registeredBefore: UnixMilliseconds(1_700_000_000_123)),
        .unfit(known("BadDeviceToken")),
        .unfit(known("DeviceTokenNotForTopic")),
      ])
  }

  /// A sender with a certificate by the tests' own root, and what the simulator did with its pushes.
  private func certified(
    _ file: String, _ environment: PushCore.Environment = .production, script: String = "{}", count: Int = 3
  ) async throws -> (verdicts: [PushCore.Verdict], summary: Summary) {
    let root = try Fixture.path("certificates/root.crt")
    let faults = try FaultScript(parsing: Array(script.utf8))
    let simulator = try await simulator {
      $0.clientAuthorityFile = root
      $0.script = faults
    }
    var credential = TestSender.production
    credential.environment = environment
    credential.teamID = nil
    credential.keyID = nil
    let sender = try sender(
      simulator, apps: [SigningApp(topic: "com.example.app", certificate: try TestCertificate.load(file))])
    sender.sender.learn([credential])
    let verdicts = try await sender.send(TestSender.batch(count)).map(\.verdict)
    await sender.sender.close(grace: .seconds(5))
    return (verdicts, await simulator.stop())
  }

  @Test("a certificate is accepted, with many streams at once from the start")
  func certificate() async throws {
    let (verdicts, summary) = try await certified("push.pem", count: 1000)

    #expect(verdicts.allSatisfy { $0 == .accepted })
    #expect(summary.providerTokens == 0 && summary.maxStreams > 1)
    #expect(summary.violations.isEmpty)
  }

  @Test("a certificate that is of the other environment, by a stranger, or revoked holds the app or the certificate")
  func refusedCertificates() async throws {
    let known = { (text: String) in PushReason.known(ReasonTable.id(of: text) ?? .none) }
    let revoke = #"{"rules":[{"at":"connection","do":{"revoke_certificate":true}}]}"#

    let otherEnvironment = try await certified("sandbox.pem", .sandbox)
    let stranger = try await certified("stranger.pem", count: 1)
    let revoked = try await certified("push.pem", script: revoke)

    #expect(otherEnvironment.verdicts.allSatisfy { $0 == .held(.app, known("BadCertificateEnvironment")) })
    #expect(stranger.verdicts == [.held(.key, known("BadCertificate"))])
    #expect(revoked.verdicts.allSatisfy { $0 == .held(.key, known("BadCertificate")) })
    #expect(revoked.summary.requests == 0)
    for result in [otherEnvironment, stranger, revoked] { #expect(result.summary.violations.isEmpty) }
  }

  @Test("keys of two teams have connections of their own, so that neither is refused")
  func twoTeams() async throws {
    let publicKey = try ES256PublicKey(pem: try Fixture.bytes("keys/TESTKEY001-public.pem"))
    let other = APNsSimulator.ProviderKey(teamID: "OTHERTEAM1", keyID: "OTHERKEY01", publicKey: publicKey)
    let first = APNsSimulator.ProviderKey(teamID: "TESTTEAM01", keyID: "TESTKEY001", publicKey: publicKey)
    let simulator = try await simulator {
      $0.rules.providerTokens = ProviderTokenRules(keys: [first, other])
    }
    var credential = TestSender.production
    credential.id = CredentialID(2)
    credential.appID = AppID(2)
    credential.topic = "com.example.other"
    credential.teamID = "OTHERTEAM1"
    credential.keyID = "OTHERKEY01"
    let sender = try sender(
      simulator,
      apps: [
        SigningApp(topic: "com.example.app", key: try ProviderTokenTests.key()),
        SigningApp(topic: "com.example.other", key: try ProviderTokenTests.key(team: "OTHERTEAM1", id: "OTHERKEY01")),
      ])
    sender.sender.learn([credential])

    let answers =
      try await sender.send(TestSender.batch(20))
      + sender.send(TestSender.batch(20, id: 2, credential: credential.id, topic: credential.topic))
    await sender.sender.close(grace: .seconds(5))

    #expect(answers.allSatisfy { $0.verdict == .accepted })
    #expect(await simulator.stop().connections == 2)
  }

  @Test("a topic outside the key holds the app")
  func topic() async throws {
    let simulator = try await simulator {
      $0.rules.topics = TopicRules(bundleIDs: ["com.example.other"])
    }
    let answers = try await sender(simulator).send(TestSender.batch(1))
    #expect(
      answers.map(\.verdict) == [
        .held(.app, .known(ReasonTable.id(of: "TopicDisallowed") ?? .none))
      ])
  }
}
