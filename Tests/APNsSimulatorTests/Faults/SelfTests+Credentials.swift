@testable import APNsSimulator

extension BrokenSender {
  /// A push with one key, and one with another on the same connection.
  static func secondKey(_ name: String, _ reason: String, after first: String, _ second: String) -> BrokenSender {
    BrokenSender(name: name, notice: .reason(reason)) { client, _ in
      try await client.push(1, ["authorization": try BrokenToken.make(of: first)])
      try await client.push(3, ["authorization": try BrokenToken.make(of: second)])
    }
  }

  /// A push with a client certificate for com.example.app and its voip pushes.
  static func certificate(_ name: String, _ reason: String, _ changes: [String: String?]) -> BrokenSender {
    BrokenSender(name: name, notice: .reason(reason)) { _, simulator in
      let tls = ("tls/ca.pem", "tls/ca-key.pem")
      let file = try await ClientCertificateTests.certificate(
        by: (simulator.folder.path(of: tls.0), simulator.folder.path(of: tls.1)), in: simulator.folder,
        extensions: ClientCertificateTests.topics)
      let client = RawClient(
        try RawPeer(port: simulator.port, authorityFile: simulator.authorityFile, ["-cert", file]))
      try await client.push(1, changes.merging(["authorization": nil]) { $1 })
    }
  }
}

extension SelfTests {
  /// What may be wrong with keys, certificates and TLS, or is wrong only with a knob turned.
  static let credentials: [BrokenSender] = [
    .secondKey("keys of two teams on a connection", "InvalidProviderToken", after: "TESTKEY001", "OTHERKEY01"),
    .secondKey(
      "a topic-specific key after one of the team", "UnrelatedKeyIdInToken", after: "TESTKEY001", "APPKEY0001"),
    .secondKey(
      "a key of the team after a topic-specific one", "UnrelatedKeyIdInToken", after: "APPKEY0001", "TESTKEY001"),
    .secondKey(
      "two topic-specific keys that are not related", "UnrelatedKeyIdInToken", after: "APPKEY0001", "APPKEY0002"),
    BrokenSender(name: "a topic outside the key", notice: .reason("TopicDisallowed")) { client, _ in
      try await client.push(
        1, ["authorization": try BrokenToken.make(of: "APPKEY0001"), "apns-topic": "com.example.other"])
    },
    .certificate("no topic beside a certificate of several", "MissingTopic", ["apns-topic": nil]),
    .certificate("a topic that the certificate does not name", "TopicDisallowed", ["apns-topic": "com.example.other"]),
    .certificate(
      "a location push with a certificate", "TopicDisallowed",
      ["apns-topic": "com.example.app.location-query", "apns-push-type": "location"]),
    BrokenSender(
      name: "a second provider token on a connection", notice: .violation(.providerTokenUpdates),
      knobs: ["token_updates=connection"]
    ) { client, _ in
      try await client.push(1)
      try await client.push(3, ["authorization": try BrokenToken.make(age: 10)])
    },
    BrokenSender(
      name: "iat ahead where none is tolerated", notice: .reason("InvalidProviderToken"),
      knobs: ["future_iat=0s"]
    ) { client, _ in try await client.push(1, ["authorization": try BrokenToken.make(age: -30)]) },
    BrokenSender(
      name: "a payload that is no JSON where that is refused", notice: .reason("BadRequestPayload"),
      knobs: ["malformed_json=reject"]
    ) { client, _ in try await client.push(1, body: "{'aps':{}}") },
    BrokenSender(
      name: "a certificate that is not verified", notice: .violation(.acceptedBadTLS),
      script: #"{"rules":[{"at":"connection","match":{"connection":2},"do":{"certificate":"wrong_host"}}]}"#
    ) { client, simulator in
      // It has shaken hands before the second connection begins.
      try await client.settle()
      _ = try await OpenSSLClient(port: simulator.port, authorityFile: simulator.authorityFile).connect(["-alpn", "h2"])
    },
  ]
}
