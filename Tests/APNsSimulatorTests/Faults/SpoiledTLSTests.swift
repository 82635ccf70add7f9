import Support
import Testing

@testable import APNsSimulator

@Suite("What a script does to TLS", .timeLimit(.minutes(1)))
struct SpoiledTLSTests {
  /// What `openssl s_client`, which forgives what it is not told to mind, says about a connection with an action, and about
  /// the next one; and what is held against it.
  private func handshakes(
    _ action: String, _ options: [String], blame: Set<Violation> = []
  ) async throws -> (spoiled: String, next: String) {
    let simulator = try await LocalSimulator(#"{"rules":[{"at":"connection","limit":1,"do":{\#(action)}}]}"#)
    let client = OpenSSLClient(port: simulator.port, authorityFile: simulator.authorityFile)
    let spoiled = try await client.connect(options)
    let next = try await client.connect(options)

    try await eventually("the blame is \(blame)") { Set(simulator.summary.violations.keys) == blame }
    return (spoiled.output + spoiled.errorOutput, next.output + next.errorOutput)
  }

  @Test(
    "a certificate with one fault, and the right one when the limit is used up",
    arguments: [
      ("expired", "certificate has expired"), ("not_yet_valid", "certificate is not yet valid"),
      ("wrong_host", "hostname mismatch"), ("unknown_ca", "unable to verify the first certificate"),
    ])
  func certificate(word: String, fault: String) async throws {
    let options = ["-alpn", "h2", "-verify_hostname", "localhost"]
    let action = #""certificate":"\#(word)""#

    let (spoiled, next) = try await handshakes(action, options, blame: [.acceptedBadTLS])
    let (strict, _) = try await handshakes(action, options + ["-verify_return_error"])

    #expect(spoiled.contains("(\(fault))"), "\(spoiled)")
    #expect(next.contains("Verify return code: 0 (ok)"), "\(next)")
    #expect(strict.contains("certificate verify failed"), "\(strict)")
  }

  @Test(
    "TLS of 1.0 or of 1.1 at most, which clients of today refuse", arguments: [("1.0", "TLSv1"), ("1.1", "TLSv1.1")])
  func version(word: String, name: String) async throws {
    let old = ["-alpn", "h2", "-min_protocol", "TLSv1", "-cipher", "DEFAULT@SECLEVEL=0"]

    let (spoiled, next) = try await handshakes(#""tls":"\#(word)""#, old, blame: [.acceptedBadTLS])
    let (refused, _) = try await handshakes(#""tls":"\#(word)""#, ["-alpn", "h2", "-min_protocol", "TLSv1.2"])

    #expect(spoiled.contains("Protocol  : \(name)\n"), "\(spoiled)")
    #expect(next.contains("TLSv1.3"), "\(next)")
    #expect(refused.contains("alert protocol version"), "\(refused)")
  }

  @Test("a client that gives up in a slow handshake is not blamed")
  func slowHandshake() async throws {
    let simulator = try await LocalSimulator(#"{"rules":[{"at":"connection","do":{"slow_handshake":"20ms"}}]}"#)

    // The end of the connection comes when the handshake has failed.
    let script = "exec 3<>/dev/tcp/127.0.0.1/\(simulator.port); printf 'no TLS, five bytes' >&3; cat <&3 >/dev/null"
    let result = try await BuiltProgram(path: "/bin/bash").run(["-c", script])

    #expect(!result.errorOutput.contains("connect"), "\(result)")
    #expect(simulator.summary.violations.isEmpty)
  }

  @Test("no answer to ALPN: the handshake is completed without")
  func noALPN() async throws {
    let (spoiled, next) = try await handshakes(#""alpn":"none""#, ["-alpn", "h2"])

    #expect(spoiled.contains("No ALPN negotiated") && spoiled.contains("Verify return code: 0 (ok)"), "\(spoiled)")
    #expect(next.contains("ALPN protocol: h2"), "\(next)")
  }

  @Test("HTTP/1.1 alone: agreed with who offers it, refused to who does not")
  func http11() async throws {
    let (both, _) = try await handshakes(#""alpn":"http/1.1""#, ["-alpn", "h2,http/1.1"])
    let (refused, _) = try await handshakes(#""alpn":"http/1.1""#, ["-alpn", "h2"])

    #expect(both.contains("ALPN protocol: http/1.1"), "\(both)")
    #expect(refused.contains("alert no application protocol"), "\(refused)")
  }
}
