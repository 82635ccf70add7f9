import Support
import Testing

/// The HTTP interface as tools see it that know nothing but its own description.
@Suite("The interface against tools", .timeLimit(.minutes(5)))
struct InterfaceTests {
  @Test(
    "schemathesis finds no 5xx, and no answer that the OpenAPI document does not have",
    .enabled(if: Peer.isUsable(Peer.schemathesis), "run scripts/test, which installs the libraries, to run this"))
  func documented() async throws {
    let site = try await SeedSite()
    // What it must know to come further than 401 and 404.
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

    try await schemathesis(
      site, ["--config-file", settings],
      checks: "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
        + "response_schema_conformance,unsupported_method,allow_header_conformance")
  }

  @Test(
    "schemathesis finds nothing taken that the OpenAPI document forbids",
    .enabled(if: Peer.isUsable(Peer.schemathesis), "run scripts/test, which installs the libraries, to run this"))
  func forbidden() async throws {
    let site = try await SeedSite()
    // Its own list has no refusal of what is too long.
    let settings = try site.directory.write(
      """
      [checks.negative_data_rejection]
      expected-statuses = [400, 401, 403, 404, 405, 409, 413, 414, 422, 429]
      """, to: "schemathesis.toml")

    try await schemathesis(
      site, ["--config-file", settings],
      ["--header", "Authorization: Bearer \(site.apiKey)", "--phases", "coverage,fuzzing"],
      checks: "negative_data_rejection")
  }

  private func schemathesis(
    _ site: SeedSite, _ options: [String], _ runOptions: [String] = [], checks: String
  ) async throws {
    let result = try await BuiltProgram(path: Peer.schemathesis).run(
      options + ["run", "http://\(site.plain)/openapi.json"] + runOptions
        + ["--checks", checks, "--max-examples", "20", "--continue-on-failure"],
      directory: site.directory.path, deadline: .seconds(240))

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
