import OpenSSL
import Testing

@testable import APNsSimulator

@Suite("Rules of client certificates")
struct CertificateRulesTests {
  static let app = "com.example.app"

  /// The answer to a request without `authorization` on a connection whose client has presented a certificate.
  private func answer(
    topics: [String] = [app], services: CertificateDetails.Services = [.production, .development],
    isTrusted: Bool = true, _ changes: [String: String?] = [:], environment: Environment = .production
  ) throws -> String {
    let details = CertificateDetails(
      subject: "UID=\(Self.app)", userID: topics.first, notBefore: 0, notAfter: .max, sha256: [], services: services,
      extensionTopics: Array(topics.dropFirst()))
    var connection = ConnectionBinding(certificate: PeerCertificate(details: details, isTrusted: isTrusted))
    var rules = try SimulatorFixture.rules()
    let request = PushRequest.sample(
      ["authorization": nil].merging(changes) { $1 }, environment: environment)
    return rules.judge(request, on: &connection, now: SimulatorFixture.time(100)).rejection?.reason.rawValue ?? "200"
  }

  @Test("a certificate needs no authorization, and one that is wrong does not matter")
  func authorization() throws {
    #expect(try answer() == "200")
    #expect(try answer(["authorization": "bearer nonsense"]) == "200")
  }

  @Test("the only topic of a certificate is the default; of several one has to be named")
  func defaultTopic() throws {
    #expect(try answer(["apns-topic": nil]) == "200")
    #expect(try answer(topics: [Self.app, "com.example.app.voip"], ["apns-topic": nil]) == "MissingTopic")
    #expect(try answer(topics: [], ["apns-topic": nil]) == "MissingTopic")
  }

  @Test("the verdict on a push has the topic that counts")
  func topicOfVerdict() throws {
    let details = CertificateDetails(
      subject: "", userID: Self.app, notBefore: 0, notAfter: .max, sha256: [], services: [], extensionTopics: [])
    var connection = ConnectionBinding(certificate: PeerCertificate(details: details, isTrusted: true))
    var rules = try SimulatorFixture.rules()

    let verdict = rules.judge(.sample(["apns-topic": nil]), on: &connection, now: SimulatorFixture.time(100))

    #expect(verdict.topic == Self.app)
  }

  @Test("the default topic has to fit the push type")
  func defaultTopicOfAnotherType() throws {
    #expect(try answer(["apns-topic": nil, "apns-push-type": "voip"]) == "DeviceTokenNotForTopic")
  }

  @Test("a topic that the certificate does not name is refused, with a suffix too")
  func topics() throws {
    #expect(try answer(["apns-topic": "com.example.other"]) == "TopicDisallowed")
    let voip = ["apns-topic": "com.example.app.voip", "apns-push-type": "voip"]
    #expect(try answer(voip) == "TopicDisallowed")
    #expect(try answer(topics: [Self.app, "com.example.app.voip"], voip) == "200")
  }

  @Test("a certificate that names no topic is for none")
  func noTopics() throws {
    #expect(try answer(topics: []) == "TopicDisallowed")
  }

  @Test(
    "location and fileprovider pushes need a provider token, whatever the certificate names",
    arguments: [("location", ".location-query"), ("fileprovider", ".pushkit.fileprovider")])
  func excludedTypes(type: String, suffix: String) throws {
    let changes = ["apns-topic": Self.app + suffix, "apns-push-type": type]
    #expect(try answer(topics: [Self.app, Self.app + suffix], changes) == "TopicDisallowed")
  }

  @Test("a certificate is for the environments that it names, and for both when it names none")
  func environments() throws {
    #expect(try answer(services: .production, environment: .production) == "200")
    #expect(try answer(services: .production, environment: .development) == "BadCertificateEnvironment")
    #expect(try answer(services: .development, environment: .production) == "BadCertificateEnvironment")
    #expect(try answer(services: [], environment: .development) == "200")
  }

  @Test("a certificate by an unknown authority is refused before anything about the request")
  func untrusted() throws {
    #expect(try answer(isTrusted: false, ["apns-topic": nil]) == "BadCertificate")
  }

  @Test("a topic that a script takes from all keys is taken from certificates too, one of a key alone is not")
  func removedTopics() throws {
    let certificate = Credential.certificate(
      PeerCertificate(
        details: CertificateDetails(
          subject: "", userID: Self.app, notBefore: 0, notAfter: 0, sha256: [], services: [], extensionTopics: []),
        isTrusted: true))
    var ofAll = TopicRules()
    ofAll.remove(Self.app, keyID: nil)
    var ofKey = TopicRules()
    ofKey.remove(Self.app, keyID: "TESTKEY001")

    #expect(throws: Rejection(.topicDisallowed)) { try ofAll.check(Self.app, of: certificate) }
    #expect(try ofKey.check(Self.app, of: certificate) == Self.app)
  }
}
