import Foundation
import Support
import Testing

@testable import APNsSimulator

@Suite("Clients with a certificate", .timeLimit(.minutes(1)))
struct ClientCertificateTests {
  /// The file of a certificate with its key, by an authority whose files lie in a folder.
  static func certificate(
    by authority: (certificate: String, key: String), in folder: TemporaryDirectory, extensions: String = "",
    userID: String = "com.example.app"
  ) async throws -> String {
    let name = "client-\(UUID().uuidString)"
    let config = try folder.write(
      """
      [req]
      distinguished_name = dn
      [dn]
      [client]
      extendedKeyUsage = clientAuth
      \(extensions)
      """, to: "\(name).cnf")
    let openssl = BuiltProgram(path: "/usr/bin/openssl")
    func run(_ arguments: String...) async throws {
      let result = try await openssl.run(arguments, directory: folder.path)
      #expect(result.status == 0, "\(result.errorOutput)")
    }
    try await run(
      "req", "-new", "-newkey", "rsa:2048", "-nodes", "-config", config, "-subj", "/UID=\(userID)/CN=Push", "-keyout",
      "\(name).key", "-out", "\(name).csr")
    try await run(
      "x509", "-req", "-in", "\(name).csr", "-CA", authority.certificate, "-CAkey", authority.key, "-days", "1",
      "-set_serial", "7", "-extfile", config, "-extensions", "client", "-out", "\(name).crt")
    let text = try ["crt", "key"].map { try String(contentsOfFile: folder.path(of: "\(name).\($0)"), encoding: .utf8) }
    return try folder.write(text.joined(), to: "\(name).pem")
  }

  private static let both = "1.2.840.113635.100.6.3.1 = ASN1:NULL\n1.2.840.113635.100.6.3.2 = ASN1:NULL"
  static let topics = """
    1.2.840.113635.100.6.3.2 = ASN1:NULL
    1.2.840.113635.100.6.3.6 = ASN1:SEQUENCE:topics
    [topics]
    1 = UTF8:com.example.app
    2 = UTF8:com.example.app.voip
    """

  private static func own(_ simulator: SimulatorProcess) -> (certificate: String, key: String) {
    (simulator.folder.path(of: "tls/ca.pem"), simulator.folder.path(of: "tls/ca-key.pem"))
  }

  /// An authority that the simulator has not made.
  private static func authority(in folder: TemporaryDirectory) async throws -> (certificate: String, key: String) {
    let result = try await BuiltProgram(path: "/usr/bin/openssl").run(
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Other", "-days", "1", "-keyout", "other.key",
        "-out", "other.pem",
      ], directory: folder.path)
    #expect(result.status == 0, "\(result.errorOutput)")
    return (folder.path(of: "other.pem"), folder.path(of: "other.key"))
  }

  @Test("one by the simulator's own authority is taken: authorization is ignored, its only topic the default")
  func ownAuthority() async throws {
    let simulator = try await SimulatorProcess()
    let file = try await Self.certificate(
      by: Self.own(simulator), in: simulator.folder, extensions: Self.both)
    let wrong = ["authorization": "bearer nonsense"]

    let named = try await simulator.push("0a", wrong, options: ["--cert", file])
    let unnamed = try await simulator.push("0a", wrong.merging(["apns-topic": ""]) { $1 }, options: ["--cert", file])
    let other = try await simulator.push("0a", ["apns-topic": "com.example.other"], options: ["--cert", file])
    let without = try await simulator.push("0a", wrong)

    #expect(named.status == 200 && unnamed.status == 200, "\(unnamed.body)")
    let second = try simulator.log()[1]
    #expect(second["headers"]?["apns-topic"] == nil && second["status"]?.integer == 200)
    #expect(other.body == #"{"reason":"TopicDisallowed"}"#)
    #expect(without.body == #"{"reason":"InvalidProviderToken"}"#)
  }

  @Test("one made as the simulator's page says is taken")
  func pageExample() async throws {
    let simulator = try await SimulatorProcess()
    let page = try DocumentationTests.page()
    let start = try #require(page.range(of: "```sh\n")).upperBound
    let end = try #require(page.range(of: "```", range: start..<page.endIndex)).lowerBound

    let made = try await BuiltProgram(path: "/bin/sh").run(
      ["-e", "-c", String(page[start..<end])], directory: simulator.folder.path)
    let answer = try await simulator.push(
      "0a", ["authorization": "none"], options: ["--cert", simulator.folder.path(of: "client.pem")])

    #expect(made.status == 0, "\(made.errorOutput)")
    #expect(answer.status == 200, "\(answer.body)")
  }

  @Test("one with several topics has to name the topic")
  func severalTopics() async throws {
    let simulator = try await SimulatorProcess()
    let file = try await Self.certificate(by: Self.own(simulator), in: simulator.folder, extensions: Self.topics)

    let unnamed = try await simulator.push("0a", ["apns-topic": ""], options: ["--cert", file])
    let voip = try await simulator.push(
      "0a", ["apns-topic": "com.example.app.voip", "apns-push-type": "voip"], options: ["--cert", file])

    #expect(unnamed.body == #"{"reason":"MissingTopic"}"#)
    #expect(voip.status == 200, "\(voip.body)")
  }

  @Test("one by another authority is BadCertificate, unless --client-ca names that")
  func otherAuthority() async throws {
    let folder = try TemporaryDirectory()
    let authority = try await Self.authority(in: folder)
    let file = try await Self.certificate(by: authority, in: folder, extensions: Self.both)
    let strange = try await SimulatorProcess()
    let familiar = try await SimulatorProcess(["--client-ca", authority.certificate])

    let refused = try await strange.push("0a", options: ["--cert", file])
    let accepted = try await familiar.push("0a", options: ["--cert", file])

    #expect(refused.status == 403 && refused.body == #"{"reason":"BadCertificate"}"#)
    #expect(accepted.status == 200, "\(accepted.body)")
  }

  @Test("with --client-ca no key is needed: every provider token is invalid then, and certificates are taken")
  func withoutKeys() async throws {
    let folder = try TemporaryDirectory()
    let authority = try await Self.authority(in: folder)
    let file = try await Self.certificate(by: authority, in: folder, extensions: Self.both)
    let simulator = try await SimulatorProcess(["--client-ca", authority.certificate], keys: false)

    let certified = try await simulator.push("0a", options: ["--cert", file])
    let uncertified = try await simulator.push("0a")

    #expect(certified.status == 200, "\(certified.body)")
    #expect(uncertified.body == #"{"reason":"InvalidProviderToken"}"#)
  }

  @Test("a --client-ca that is none ends with 78 and names the file")
  func badAuthority() async throws {
    let file = SimulatorFixture.path("jwt-vectors.tsv")
    let folder = try TemporaryDirectory()

    let result = try await BuiltProgram("apns-simulator").run([
      "--listen", "127.0.0.1:0", "--tls-dir", folder.path(of: "tls"), "--no-checks", "--client-ca", file,
    ])

    #expect(result.status == 78)
    #expect(result.errorOutput.contains("--client-ca") && result.errorOutput.contains(file), "\(result.errorOutput)")
  }

  @Test("a thousand streams are allowed from the start, with a provider token one")
  func streams() async throws {
    let simulator = try await SimulatorProcess()
    let file = try await Self.certificate(by: Self.own(simulator), in: simulator.folder, extensions: Self.both)
    let stranger = try await Self.certificate(
      by: try await Self.authority(in: simulator.folder), in: simulator.folder, extensions: Self.both)

    #expect(try await firstLimit(simulator, ["-cert", file]) == 1000)
    #expect(try await firstLimit(simulator, ["-cert", stranger]) == 1)
    #expect(try await firstLimit(simulator, []) == 1)
  }

  private func firstLimit(_ simulator: SimulatorProcess, _ options: [String]) async throws -> Int? {
    let peer = try RawPeer(port: simulator.ports[0], authorityFile: simulator.authorityFile, options)
    peer.send(RawFrames.preface + RawFrames.settings)
    let frames = try await peer.frames { $0.contains { $0.type == 4 && $0.flags == 0 } }
    peer.close()
    return frames.first { $0.type == 4 && $0.flags == 0 }.flatMap { RawFrames.settings(in: $0.payload)[3] }
  }

  @Test("one of the other environment gets GOAWAY with BadCertificateEnvironment behind the handshake, and the end")
  func otherEnvironment() async throws {
    let simulator = try await SimulatorProcess(listeners: ["sandbox=127.0.0.1:0"])
    let file = try await Self.certificate(
      by: Self.own(simulator), in: simulator.folder, extensions: "1.2.840.113635.100.6.3.2 = ASN1:NULL")
    let peer = try RawPeer(port: simulator.ports[0], authorityFile: simulator.authorityFile, ["-cert", file])

    peer.send(RawFrames.preface + RawFrames.settings + RawFrames.settingsAcknowledged)
    let frames = try await peer.framesToEnd()

    let goAway = try #require(frames.first { $0.type == 7 })
    #expect(goAway.number(at: 0) == 0 && goAway.number(at: 4) == 0)
    #expect(String(decoding: goAway.payload[8...], as: UTF8.self) == #"{"reason":"BadCertificateEnvironment"}"#)
    #expect(frames.allSatisfy { $0.stream == 0 })
  }

  @Test("a script refuses one as revoked in the handshake; who has none is not concerned")
  func revoked() async throws {
    let simulator = try await SimulatorProcess(
      script: #"{"rules":[{"at":"connection","limit":2,"do":{"revoke_certificate":true}}]}"#)
    let file = try await Self.certificate(by: Self.own(simulator), in: simulator.folder, extensions: Self.both)

    let without = try await simulator.push("0a")
    // It has the alert before its input ends, since TLS 1.2 ends the handshake with the server's word.
    let refused = try await OpenSSLClient(simulator).connect(["-alpn", "h2", "-tls1_2", "-cert", file])
    let later = try await simulator.push("0a", options: ["--cert", file])

    #expect(refused.errorOutput.contains("alert certificate revoked"), "\(refused.errorOutput)")
    let statuses = [without.status, later.status]
    #expect(statuses == [200, 200])
    #expect(try await simulator.summary()["violations"]?.object?.isEmpty == true)
  }
}
