import JSON
import Support
import Testing

/// The systems that the relay serves unchanged: their calls, by the libraries that they use.
@Suite("The seeds against the relay", .timeLimit(.minutes(3)))
struct SeedTests {
  @Test(
    "a seed finds everything that it needs, and each of its pushes is sent once",
    .enabled(if: Peer.isUsable(Peer.packagesPython), "run scripts/test, which installs the libraries, to run this"),
    arguments: [("push-book", 2), ("apns-manager", 0), ("users", 1), ("login-approval", 1)])
  func seed(part: String, pushes: Int) async throws {
    let site = try await SeedSite(
      more: #""webhooks": { "allow_http": true, "allowed_networks": ["127.0.0.1"] },"#)

    let result = try await BuiltProgram(path: Peer.packagesPython).run(
      [Fixture.path("seeds.py"), site.settings, part], deadline: .seconds(120))

    #expect(result.status == 0, "\(result.text)\n\(site.relay.errorOutput.suffix(2000))")
    #expect(try await site.requests().count == pushes)
  }

  @Test(
    "the login approval works with nothing but curl, where no interest is protected",
    .enabled(if: Peer.isUsable(Peer.curl), "install curl to run this"))
  func curl() async throws {
    let site = try await SeedSite(more: #""interests": { "protected": [] },"#)
    let token = PeerSite.token(7)

    let result = try await BuiltProgram(path: "/bin/sh").run([
      Fixture.path("curl_login.sh"), "http://\(site.plain)", SeedSite.instance, SeedSite.secret, PeerSite.topic, token,
    ])
    try await eventually("the push") { try site.logged().count == 1 }

    #expect(result.lines == ["interest 200", "publish 200", "approve 404"], "\(result.text)")
    #expect(site.relay.errorOutput.contains("no interest is protected"))
    let request = try #require(try await site.requests().first)
    #expect(request["device_token"]?.string == token)
    #expect(request["body"]?["aps"]?["payload"]?["hash"]?.string == "aa.bb")
  }
}
