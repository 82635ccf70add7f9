import APNs
import Foundation
import Operations
import PushCore
import Support
import Testing

@testable import Composition

@Suite("The certificates of the configured apps")
final class CertificateTests {
  private let directory: TemporaryDirectory

  init() async throws {
    directory = try TemporaryDirectory()
    // Good for 100 days, for production alone.
    try directory.write(
      """
      [req]
      distinguished_name = dn
      x509_extensions = push
      prompt = no
      [dn]
      UID = com.example.app
      [push]
      1.2.840.113635.100.6.3.2 = ASN1:NULL
      """, to: "openssl.cnf")
    let result = try await BuiltProgram(path: "/usr/bin/openssl").run([
      "req", "-x509", "-config", directory.path(of: "openssl.cnf"), "-newkey", "rsa:2048", "-nodes", "-days", "100",
      "-keyout", directory.path(of: "key.pem"), "-out", directory.path(of: "crt.pem"),
    ])
    try #require(result.status == 0, "\(result.errorOutput)")
    let both = try ["crt.pem", "key.pem"].map { try String(contentsOfFile: directory.path(of: $0), encoding: .utf8) }
    try directory.write(both.joined(), to: "push.pem")
  }

  private func ring(
    topic: String = "com.example.app", environment: Configuration.Environment = .production, file: String = "push.pem",
    days: Int64 = 0
  ) throws -> KeyRing {
    let now = SystemClocks().wallTime().value + days * 86_400_000
    return try KeyRing(
      [
        Configuration.App(
          topic: topic, environment: environment,
          credential: .certificate(path: directory.path(of: file), password: nil, variable: nil))
      ], clocks: DrivenClocks(wall: UnixMilliseconds(now)))
  }

  private func error(_ make: () throws -> KeyRing) -> String {
    do {
      _ = try make()
      return "none"
    } catch {
      return "\(error)"
    }
  }

  @Test("a good one is taken, and the store is told of it for the service that it names")
  func good() throws {
    let ring = try ring()
    #expect(ring.warnings.isEmpty)
    #expect(ring.certificates.map(\.topics) == [["com.example.app"]])
    let certificate = try #require(ring.certificates.first)
    #expect(certificate.subject == "UID=com.example.app")
    #expect(ring.bindings.map(\.certificateSHA256) == [certificate.details.sha256, nil])
    #expect(ring.bindings.allSatisfy { $0.teamID == nil && $0.keyID == nil })
  }

  @Test("one that expires within 30 days, or is for the other service, is warned of")
  func warnings() throws {
    #expect(try ring(days: 69).warnings.isEmpty)
    let late = try ring(days: 75).warnings
    #expect(late.count == 1 && late[0].severity == .warning && late[0].description.contains(/in 2[45] days/), "\(late)")
    let sandbox = try ring(environment: .sandbox).warnings
    #expect(sandbox.count == 1 && sandbox[0].description.contains("production alone"), "\(sandbox)")
  }

  @Test("one that has expired, is not good yet, is for another topic or is none stops the start")
  func errors() throws {
    #expect(error { try ring(days: 101) }.contains("expired at 2"))
    #expect(error { try ring(days: -2) }.contains("not good before"))
    #expect(
      error { try ring(topic: "com.example.other") }.contains("is for com.example.app, not for com.example.other"))
    #expect(error { try ring(file: "crt.pem") }.contains("no private key"))
    #expect(error { try ring(file: "key.pem") }.contains("key_file"))
    #expect(error { try ring(file: "absent.pem") }.contains("cannot be read"))
  }
}
