import Foundation
import JSON
import Support
import Testing

@Suite("Clients of other projects against the simulator", .timeLimit(.minutes(2)))
struct OtherClientsTests {
  private static let gone = PeerSite.token(9000)

  private func site(_ options: [String] = []) async throws -> PeerSite {
    try await PeerSite(simulatorOptions: ["--device", "\(Self.gone)=unregistered@1700000000000"] + options)
  }

  /// The simulator's summary, which it prints when it is asked to end.
  private func summary(_ site: PeerSite) async throws -> JSONValue {
    site.simulator.signal(SIGTERM)
    let result = try await site.simulator.result()
    return try JSONValue(parsing: Array((result.lines.last ?? "").utf8))
  }

  @Test(
    "aioapns and httpx are judged like our own sender",
    .enabled(if: Peer.isUsable(Peer.packagesPython), "run scripts/test, which installs both, to run this"),
    arguments: ["aioapns", "httpx"])
  func python(client: String) async throws {
    let site = try await site()
    let tokens = (1...60).map { PeerSite.token($0) } + [Self.gone]

    let result = try await BuiltProgram(path: Peer.packagesPython).run(
      [
        Fixture.path("clients.py"), client, site.simulatorPort, site.authority, site.key, PeerSite.team, PeerSite.keyID,
        PeerSite.topic,
      ] + tokens, deadline: .seconds(60))

    #expect(result.status == 0, "\(result.text)")
    var answers: [String: JSONValue] = [:]
    for line in result.lines {
      let answer = try JSONValue(parsing: Array(line.utf8))
      answers[answer["token"]?.string ?? ""] = answer
    }
    #expect(answers.count == tokens.count)
    #expect(answers[Self.gone]?["status"]?.integer == 410)
    #expect(answers[Self.gone]?["reason"]?.string == "Unregistered")
    #expect(tokens.dropLast().allSatisfy { answers[$0]?["status"]?.integer == 200 }, "\(result.text)")
    let summary = try await summary(site)
    #expect(summary["requests"]?.integer == Int64(tokens.count))
    #expect(summary["accepted"]?.integer == Int64(tokens.count - 1) && summary["connections"]?.integer == 1)
    #expect(summary["provider_tokens"]?.integer == 1 && summary["violations"]?.object?.isEmpty == true)
  }

  @Test(
    "curl is told what is missing, one thing after the other",
    .enabled(if: Peer.isUsable(Peer.curl), "install curl to run this"))
  func curl() async throws {
    let site = try await site()
    let url = "https://localhost:\(site.simulatorPort)/3/device/\(PeerSite.token(1))"
    let form = [
      "--silent", "--show-error", "--http2", "--cacert", site.authority, "--write-out",
      "\n%{http_version} %{http_code}",
    ]
    func answer(_ options: String...) async throws -> String {
      try await BuiltProgram(path: Peer.curl).run(form + options).output
    }

    #expect(try await answer("--data", "{\"aps\":{}}", url) == "{\"reason\":\"MissingProviderToken\"}\n2 403")
    #expect(try await answer(url) == "{\"reason\":\"MethodNotAllowed\"}\n2 405")
    #expect(
      try await answer("--data", "{}", "--header", "authorization: bearer x.y.z", url)
        == "{\"reason\":\"InvalidProviderToken\"}\n2 403")
  }

  @Test(
    "h2load has each of its requests counted",
    .enabled(if: Peer.isUsable(Peer.h2load), "install nghttp2-client to run this"))
  func h2load() async throws {
    let site = try await site(["--no-checks"])
    let body = try site.directory.write("{\"aps\":{\"alert\":\"x\"}}", to: "body.json")

    let result = try await BuiltProgram(path: Peer.h2load).run(
      [
        "-n", "5000", "-c", "4", "-m", "50", "-d", body,
        "https://localhost:\(site.simulatorPort)/3/device/\(PeerSite.token(1))",
      ], deadline: .seconds(60))

    #expect(result.output.contains("5000 succeeded, 0 failed, 0 errored, 0 timeout"), "\(result.text)")
    let summary = try await summary(site)
    #expect(summary["requests"]?.integer == 5000, "\(summary)")
    #expect(summary["connections"]?.integer == 4, "\(summary)")
  }
}
