import Support
import Testing

/// The HTTP interface as tools see it that know nothing but its own description.
@Suite("The interface against tools", .timeLimit(.minutes(5)))
struct InterfaceTests {
  @Test(
    "schemathesis finds no 5xx, no answer that the OpenAPI document does not have, and nothing wrong that is taken",
    .enabled(if: Peer.isUsable(Peer.schemathesis), "run scripts/test, which installs the libraries, to run this"))
  func schemathesis() async throws {
    let site = try await SeedSite()
    let settings = try site.directory.write(
      """
      warnings = false
      [parameters]
      "path.instance" = "\(SeedSite.instance)"
      "path.topic" = "\(PeerSite.topic)"
      "query.topic" = "\(PeerSite.topic)"
      [[operations]]
      include-path-regex = "^/v1/"
      headers = { Authorization = "Bearer \(site.apiKey)" }
      [[operations]]
      include-path-regex = "^/(publish|customer|user)_api/"
      headers = { Authorization = "Bearer \(SeedSite.secret)" }
      """, to: "schemathesis.toml")

    // Not: that whatever fits the schemas is taken. They do not say that a cursor is one of ours, or a token registered.
    let result = try await BuiltProgram(path: Peer.schemathesis).run(
      [
        "--config-file", settings, "run", "http://\(site.plain)/openapi.json", "--checks", "all", "--exclude-checks",
        "positive_data_acceptance", "--max-examples", "20", "--continue-on-failure",
      ], directory: site.directory.path, deadline: .seconds(240))

    #expect(result.status == 0, "\(result.text.suffix(8000))")
    #expect(result.output.contains("Tested: "))
  }

  @Test(
    "ten thousand connections that do nothing, slow senders, endless bodies and nonsense of every kind keep no honest client out",
    .enabled(if: Peer.isUsable(Peer.python), "install python3 to run this"))
  func hostile() async throws {
    let site = try await SeedSite()

    let result = try await BuiltProgram(path: Peer.python).run(
      [Fixture.path("hostile.py"), site.settings, "\(site.relay.processID)"], deadline: .seconds(200))

    #expect(result.status == 0, "\(result.text)\n\(site.relay.errorOutput.suffix(2000))")
  }

  @Test(
    "prometheus_client reads the metrics, each with its help and type, and finds what was pushed",
    .enabled(if: Peer.isUsable(Peer.packagesPython), "run scripts/test, which installs the libraries, to run this"))
  func metrics() async throws {
    let site = try await SeedSite()

    let result = try await BuiltProgram(path: Peer.packagesPython).run([Fixture.path("metrics.py"), site.settings])

    #expect(result.status == 0, "\(result.text)\n\(site.relay.errorOutput.suffix(2000))")
  }
}
