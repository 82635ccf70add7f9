public import OpenSSL
import PushCore

/// An app of this process's configuration and what authenticates its pushes.
public struct SigningApp: Sendable {
  /// The bundle id.
  public let topic: String
  /// What authenticates its pushes.
  public let signer: Signer

  /// An app with its key.
  public init(topic: String, key: ProviderKey) {
    self.topic = topic
    signer = .key(key)
  }

  /// An app with its certificate.
  public init(topic: String, certificate: ClientCertificate) {
    self.topic = topic
    signer = .certificate(certificate)
  }
}

/// What shows APNs who sends.
public enum Signer: Sendable {
  /// A key that signs provider tokens; each push carries one.
  case key(ProviderKey)
  /// A certificate that TLS presents; pushes carry nothing.
  case certificate(ClientCertificate)

  var identity: SignerIdentity {
    switch self {
    case .key(let key): .key(key.identity)
    case .certificate(let certificate): .certificate(sha256: certificate.details.sha256)
    }
  }

  /// Whether it may be used for a credential, as far as it says: keys say nothing; a certificate names topics and services.
  func covers(_ credential: Credential) -> Bool {
    guard case .certificate(let certificate) = self else { return true }
    let details = certificate.details
    let service: CertificateDetails.Services = credential.environment == .sandbox ? .development : .production
    return (details.topics.isEmpty || details.topics.contains(credential.topic))
      && (details.services.isEmpty || details.services.contains(service))
  }
}

/// What tells one signer from another: APNs binds a connection to it.
enum SignerIdentity: Hashable, Sendable {
  case key(ProviderKeyIdentity)
  case certificate(sha256: [UInt8])
}

/// Finds the signer of a credential.
struct Signers: Sendable {
  private var byTopic: [String: Signer] = [:]
  private var byID: [String: Signer] = [:]

  init(_ apps: [SigningApp]) {
    for app in apps {
      byTopic[app.topic] = app.signer
      if case .key(let key) = app.signer { byID[Self.id(key.teamID, key.keyID)] = app.signer }
    }
  }

  /// The signer of the credential's topic, or of the topic that it extends by a push type's suffix; else the key that the
  /// store names for it. Nil also when that is a certificate for other topics or the other service.
  func signer(for credential: Credential) -> Signer? {
    guard let signer = nearest(to: credential), signer.covers(credential) else { return nil }
    return signer
  }

  private func nearest(to credential: Credential) -> Signer? {
    if let signer = byTopic[credential.topic] { return signer }
    if let type = PushType(suffixOf: credential.topic),
      let signer = byTopic[String(credential.topic.dropLast(type.rules.topicSuffix.count))]
    {
      return signer
    }
    guard let teamID = credential.teamID, let keyID = credential.keyID else { return nil }
    return byID[Self.id(teamID, keyID)]
  }

  /// The identities of all signers.
  var identities: Set<SignerIdentity> { Set(byTopic.values.map(\.identity)) }

  private static func id(_ teamID: String, _ keyID: String) -> String { "\(teamID)/\(keyID)" }
}
