import HTTP2
import OpenSSL
import Operations
import PushCore
import Support
import Testing

@testable import APNs

@Suite("Sending with a certificate", .timeLimit(.minutes(1)))
struct CertificateSenderTests {
  /// A server that takes only clients with a certificate by the tests' root.
  private func server(_ script: @escaping ScriptedAPNs.Script = { _ in .accepted }) async throws -> ScriptedAPNs {
    try await ScriptedAPNs(clientAuthority: try Fixture.path("certificates/root.crt"), script)
  }

  private func sender(
    _ server: ScriptedAPNs, _ file: String = "push.pem", password: String? = nil, credentials: [Credential]? = nil
  ) throws -> TestSender {
    let certificate = try TestCertificate.load(file, password: password)
    return try TestSender(
      port: server.port, authorityFile: server.authorityFile,
      apps: [SigningApp(topic: "com.example.app", certificate: certificate)],
      credentials: credentials ?? [credential(1, "com.example.app")])
  }

  private func credential(
    _ id: Int64, _ topic: String, _ environment: PushCore.Environment = .production
  ) -> Credential {
    Credential(
      id: CredentialID(id), appID: AppID(1), topic: topic, environment: environment, teamID: nil, keyID: nil,
      heldSince: nil, heldReason: nil)
  }

  @Test(
    "A push goes without authorization, over TLS that presents certificate and intermediate",
    arguments: [("push.pem", nil), ("push.p12", "secret"), ("legacy.p12", "secret"), ("encrypted.pem", "secret")])
  func accepted(file: String, password: String?) async throws {
    let server = try await server()
    let sender = try sender(server, file, password: password)

    let answers = try await sender.send(TestSender.batch(100))

    #expect(answers.allSatisfy { $0.verdict == .accepted })
    #expect(server.asked.count == 100)
    #expect(server.asked.allSatisfy { $0.providerToken == nil && $0.fields["apns-topic"] == "com.example.app" })
    #expect(await sender.sender.connect(credential(1, "com.example.app")) == nil)
  }

  @Test("The server's own limit of streams holds from the start")
  func streams() async throws {
    let server = try await server()
    let sender = try sender(server)
    _ = try await sender.send(TestSender.batch(1000))
    let snapshot = await sender.sender.snapshot()
    #expect(snapshot.first?.connections.first?.streamLimit == 1000)
    #expect(snapshot.first?.label == "production com.example.app")
  }

  @Test("A certificate that the server refuses holds the app, as a refused key does")
  func refused() async throws {
    let server = try await server()
    let sender = try sender(server, "stranger.pem")

    let answers = try await sender.send(TestSender.batch(3))

    let bad = PushReason.known(try #require(ReasonTable.id(of: "BadCertificate")))
    #expect(answers.allSatisfy { $0.verdict == .held(.key, bad) && $0.status == 0 })
    #expect(server.asked.isEmpty)
    let failure = await sender.sender.connect(credential(1, "com.example.app"))
    #expect(failure == nil || failure?.message.contains("certificate") == true)
  }

  @Test("A GOAWAY for the wrong environment holds the app")
  func wrongEnvironment() async throws {
    let server = try await server { _ in
      ScriptedAPNs.Answer(
        outcome: .silence,
        commandsAfter: [
          .goAway(lastStream: 0, errorCode: 0, debugData: Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8))
        ])
    }
    let sender = try sender(server)

    let answers = try await sender.send(TestSender.batch(2))

    let wrong = PushReason.known(try #require(ReasonTable.id(of: "BadCertificateEnvironment")))
    #expect(answers.allSatisfy { $0.verdict == .held(.app, wrong) })
  }

  @Test("The topics of the certificate are served, others and the other service are not tried")
  func topics() async throws {
    let credentials = [
      credential(1, "com.example.app"), credential(2, "com.example.app.voip"),
      credential(3, "com.example.app.push-type.liveactivity"), credential(4, "com.example.other"),
      credential(5, "com.example.app", .sandbox),
    ]
    let server = try await server()
    let both = try sender(server, credentials: credentials)
    let sandbox = try sender(server, "sandbox.pem", credentials: credentials)

    #expect(credentials.map { both.sender.canSign($0) } == [true, true, false, false, true])
    #expect(credentials.map { sandbox.sender.canSign($0) } == [false, false, false, false, true])

    let unfit = try await both.send(TestSender.batch(2, credential: CredentialID(3), topic: credentials[2].topic))
    guard case .unsent(let failure, _) = unfit[0].verdict else {
      Issue.record("\(unfit[0].verdict)")
      return
    }
    #expect(failure.kind == .credential && failure.remedy.contains("certificate"))
    let voip = try await both.send(
      TestSender.batch(
        id: 2, credential: CredentialID(2), headers: PushHeaders(pushType: .voip, priority: .immediate),
        topic: credentials[1].topic))
    #expect(voip[0].verdict == .accepted)
  }

  @Test("A key and a certificate, and two certificates, have connections of their own")
  func connections() async throws {
    let server = try await server()
    let certificate = try TestCertificate.load("push.pem")
    let sandbox = try TestCertificate.load("sandbox.pem")
    let sender = try TestSender(
      port: server.port, authorityFile: server.authorityFile,
      apps: [SigningApp(topic: "com.example.app", certificate: certificate)],
      credentials: [
        credential(1, "com.example.app"), credential(2, "com.example.app", .sandbox),
      ])
    _ = try await sender.send(TestSender.batch(1))
    _ = try await sender.send(TestSender.batch(1, id: 2, credential: CredentialID(2)))
    sender.sender.replaceApps([SigningApp(topic: "com.example.app", certificate: sandbox)])
    let answers = try await sender.send(TestSender.batch(1, id: 3, credential: CredentialID(2)))

    #expect(answers[0].verdict == .accepted)
    #expect(Set(server.asked.map(\.connection)).count == 3)
    // The origins of the first certificate are gone.
    #expect(await sender.sender.snapshot().count == 1)
  }
}
