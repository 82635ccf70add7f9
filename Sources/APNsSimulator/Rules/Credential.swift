import OpenSSL

/// In whose name a request is made, which decides what topics there are.
enum Credential: Sendable {
  /// The key of a provider token.
  case key(ProviderKey)
  /// A client certificate.
  case certificate(PeerCertificate)

  /// The id of the key; nil for a certificate.
  var keyID: String? { if case .key(let key) = self { key.keyID } else { nil } }

  /// The topic of a request that names none: that of a certificate with no other.
  var defaultTopic: String? {
    guard case .certificate(let certificate) = self else { return nil }
    let topics = certificate.details.topics
    return topics.count == 1 ? topics[0] : nil
  }

  /// Whether a topic belongs to the credential.
  func covers(_ topic: String) -> Bool {
    switch self {
    case .key(let key): key.covers(topic)
    case .certificate(let certificate): certificate.covers(topic)
    }
  }
}

extension PeerCertificate {
  /// The push types that provider tokens alone may use.
  private static let excludedTypes: [PushType] = [.location, .fileprovider]

  /// Refuses a certificate that cannot be used here; one that names no environment is good for both.
  func check(_ environment: Environment) throws(Rejection) {
    guard isTrusted else { throw Rejection(.badCertificate) }
    let service: CertificateDetails.Services = environment == .production ? .production : .development
    guard details.services.isEmpty || details.services.contains(service) else {
      throw Rejection(.badCertificateEnvironment)
    }
  }

  /// Whether it names the topic, suffix and all.
  fileprivate func covers(_ topic: String) -> Bool {
    if let type = PushType.ofSuffix(in: topic), Self.excludedTypes.contains(type) { return false }
    return details.topics.contains(topic)
  }
}
