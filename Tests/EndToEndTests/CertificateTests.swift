import Foundation
import JSON
import Support
import Testing

@Suite("A certificate in place of a key", .timeLimit(.minutes(3)))
struct CertificateTests {
  /// A site whose app has a certificate in a `.p12` with the password `secret`, and a service that judges nothing.
  private func site(_ extensions: String...) async throws -> Site {
    let site = try await Site(simulatorOptions: ["--no-checks"])
    let openssl = BuiltProgram(path: "/usr/bin/openssl")
    let folder = site.directory.path
    try await openssl.run(
      [
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "10", "-subj", "/UID=\(Site.topic)/CN=Push",
        "-keyout",
        "push.key", "-out", "push.crt",
      ] + extensions.flatMap { ["-addext", $0] }, directory: folder)
    try await openssl.run(
      [
        "pkcs12", "-export", "-inkey", "push.key", "-in", "push.crt", "-passout", "pass:secret", "-out", "push.p12",
      ], directory: folder)
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: site.directory.path(of: "push.p12"))
    try site.directory.write(
      """
      {
        "store": "sqlite:relay.db",
        "apps": [{ "topic": "\(Site.topic)", "certificate_file": "push.p12", "certificate_password_variable": "PUSH_PASSWORD" }],
        "apns": { "production": "\(site.address)", "ca_file": "tls/ca.pem" }
      }
      """, to: "pushrelay.json")
    return site
  }

  private func run(_ program: BuiltProgram, _ site: Site, password: String? = "secret", _ arguments: String...)
    async throws
    -> ProgramResult
  {
    var environment = BuiltProgram.defaultEnvironment
    environment["PUSH_PASSWORD"] = password
    return try await program.run(arguments, environment: environment, directory: site.directory.path)
  }

  @Test("sendpush and the relay send with it, check shows it and warns of its end")
  func sends() async throws {
    let site = try await site()

    let sent = try await run(site.sendpush, site, "send", "--token", Site.token(1), "--title", "x")
    let check = try await run(site.pushrelay, site, "check")
    let queued = try await run(site.sendpush, site, "enqueue", "--token", Site.token(2), "--title", "x")
    var environment = BuiltProgram.defaultEnvironment
    environment["PUSH_PASSWORD"] = "secret"
    let relay = try site.pushrelay.start(["serve"], environment: environment, directory: site.directory.path)
    let id = queued.output.trimmingCharacters(in: .whitespacesAndNewlines)
    let done = try await run(site.sendpush, site, "status", id, "--wait", "--timeout", "20s", "--json")
    let status = try await run(site.pushrelay, site, "app", "status", "--json")
    relay.signal(15)
    let end = try await relay.result()

    #expect(sent.status == 0, "\(sent.text)")
    #expect(check.status == 0, "\(check.text)")
    #expect(check.output.contains("CN=Push,UID=\(Site.topic), expires "), "\(check.text)")
    #expect(check.output.contains("expires at") && check.output.contains(/in (9|10) days/), "\(check.text)")
    #expect(done.status == 0 && done.output.contains(#""accepted":1"#), "\(done.text)")
    #expect(try status.json().first?["certificate_sha256"]?.string?.count == 64, "\(status.text)")
    #expect(end.errorOutput.contains("a certificate needs care"), "\(end.text)")
    for result in [sent, check, end] { #expect(!result.text.contains("secret")) }
  }

  @Test("a device of an environment that the certificate is not for: 78")
  func otherEnvironment() async throws {
    let site = try await site("1.2.840.113635.100.6.3.2=ASN1:NULL")

    let sent = try await run(
      site.sendpush, site, "send", "--token", Site.token(1), "--title", "x", "--environment", "sandbox")

    #expect(sent.status == 78, "\(sent.text)")
    #expect(sent.errorOutput.contains("no key for \(Site.topic) (sandbox)"), "\(sent.text)")
  }

  @Test("a wrong password, and none, are told with the setting's name: 78")
  func password() async throws {
    let site = try await site()
    let wrong = try await run(site.sendpush, site, password: "hidden", "send", "--token", Site.token(1), "--title", "x")
    let none = try await run(site.sendpush, site, password: nil, "send", "--token", Site.token(1), "--title", "x")
    #expect(wrong.status == 78 && wrong.errorOutput.contains("password does not open"), "\(wrong.text)")
    #expect(!wrong.text.contains("hidden"))
    #expect(none.status == 78 && none.errorOutput.contains("certificate_password_variable"), "\(none.text)")
  }
}
