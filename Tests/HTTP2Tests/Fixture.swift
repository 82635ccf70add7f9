import HTTP2
import OpenSSL
import Operations
import Testing

/// Files beside the tests.
enum Fixture {
  static func path(_ name: String) -> String {
    String(#filePath.dropLast("Fixture.swift".count)) + "Fixtures/" + name
  }

  /// Trusts the tests' own authority.
  static func trust() throws -> TLSContext {
    try TLSContext(client: TLSClientConfiguration(certificateAuthorityFile: path("ca.pem")))
  }

  /// A server that presents one of the certificates: `server`, `other` or `expired`.
  static func server(_ name: String = "server", protocols: [String] = ["h2"]) throws -> TLSContext {
    var configuration = TLSServerConfiguration(
      certificateFile: path("\(name).pem"), privateKeyFile: path("\(name).key"))
    configuration.applicationProtocols = protocols
    configuration.requestsClientCertificate = true
    return try TLSContext(server: configuration)
  }
}

extension HTTP2RequestTemplate {
  /// A small request like those that the product sends.
  static func example(
    topic: String = "com.example.app", body: [UInt8] = Array(#"{"aps":{}}"#.utf8)
  ) throws -> HTTP2RequestTemplate {
    try HTTP2RequestTemplate(
      authority: "localhost", pathPrefix: "/3/device/",
      fields: [
        HTTP2Field("authorization", "bearer secret", indexing: .never), HTTP2Field("apns-topic", topic),
      ], perRequestField: "apns-id", body: body)
  }
}

/// `#expect(actual == expected)` for an expression that changes what it is asked of, which the macro does not take.
func expect<Value: Equatable>(
  _ actual: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
  #expect(actual == expected, sourceLocation: sourceLocation)
}
