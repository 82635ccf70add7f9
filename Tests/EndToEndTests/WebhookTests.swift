import Foundation
import Glibc
import JSON
import Support
import Testing

/// Webhooks of Beams publishes, from a backend's call to a receiver on this machine.
@Suite(.timeLimit(.minutes(3))) struct WebhookTests {
  private static let instance = "00000000-0000-4000-8000-00000000beef"
  private static let secret = "0123456789ABCDEF0123456789ABCDEF"
  private static let listeners = #"[{ "address": "127.0.0.1:0", "serve": ["beams", "operations"] }]"#

  private static func settings(allowing networks: String = "") -> String {
    #"""
    "beams": [{ "instance_id": "\#(instance)", "secret_key": "\#(secret)", "topics": ["\#(Site.topic)"] }],
    "webhooks": { "allow_http": true, "allowed_networks": [\#(networks)] }
    """#
  }

  /// Where a program listens: the address of its log line.
  private func address(_ program: RunningProgram) async throws -> String {
    let line = try await program.errorLine(containing: "address=")
    return line.split(separator: " ").first { $0.hasPrefix("address=") }.map { String($0.dropFirst(8)) } ?? line
  }

  private func call(_ url: String, _ options: String...) async throws -> String {
    let result = try await BuiltProgram(path: "/usr/bin/curl").run(
      ["--silent", "--show-error", "--max-time", "20"] + options + [url])
    guard result.status == 0 else { throw SupportError(result.text) }
    return result.output
  }

  /// Publishes to an interest; the body, and the answer's publish id.
  private func publish(
    _ interest: String, webhook: String, at address: String
  ) async throws -> (body: String, publishID: String) {
    let body =
      #"{ "apns":{"aps":{"alert":"\u00fc\/"}},"interests":["\#(interest)"],"webhookUrl":"\#(webhook)","n":1.0 }"#
    let answer = try await call(
      "http://\(address)/publish_api/v1/instances/\(Self.instance)/publishes/interests", "-H",
      "Authorization: Bearer \(Self.secret)", "-H", "Content-Type: application/json", "-d", body)
    guard let id = try JSONValue(parsing: Array(answer.utf8))["publishId"]?.string else { throw SupportError(answer) }
    return (body, id)
  }

  @Test("a publish tells its webhook of the start, and of the end with the right numbers")
  func startedAndFinished() async throws {
    let site = try await Site(simulatorOptions: ["--device", "\(Site.token(3))=unregistered"])
    let server = try await HookServer()
    try site.writeConfiguration(listeners: Self.listeners, others: Self.settings(allowing: #""127.0.0.1""#))
    try await site.importDevices((1...3).map { Site.token($0) }, interest: "news")

    try await site.whileServing { relay in
      let address = try await address(relay)
      let (body, id) = try await publish(
        "news", webhook: "http://jane:secret@127.0.0.1:\(server.port)/200", at: address)
      let requests = try await server.requests(2)

      #expect(requests.map(\.fields["authorization"]) == Array(repeating: "Basic amFuZTpzZWNyZXQ=", count: 2))
      #expect(
        requests.map(\.body) == [
          #"{"publishId":"\#(id)","status":"STARTED","requestBody":\#(body)}"#,
          #"{"publishId":"\#(id)","status":"FINISHED","requestBody":\#(body),"results":{"apns":{"numSuccessfulPublishes":2,"numFailedPublishes":1}}}"#,
        ])
      try await eventually("both are counted") {
        try await call("http://\(address)/metrics").contains("pushrelay_webhooks_total{outcome=\"delivered\"} 2\n")
      }
      #expect(!relay.errorOutput.contains("secret"))
    }
  }

  @Test("a receiver in a network that the settings do not name is never called, whatever its name says")
  func forbiddenNetwork() async throws {
    let site = try await Site()
    let server = try await HookServer()
    try site.writeConfiguration(
      listeners: Self.listeners, others: Self.settings() + #", "log": { "level": "debug" }"#)

    try await site.whileServing { relay in
      _ = try await publish(
        "news", webhook: "http://jane:secret@localhost:\(server.port)/200?SECRET", at: try await address(relay))
      let line = try await relay.errorLine(containing: "webhook not delivered")

      #expect(line.contains("webhook.host=localhost") && line.contains("a loopback address"), "\(line)")
      #expect(try server.requests().isEmpty)
      #expect(!relay.errorOutput.lowercased().contains("secret"))
    }
  }

  @Test("kill -9 between the publish and its webhook loses neither message")
  func killed() async throws {
    let site = try await Site()
    let server = try await HookServer()
    try site.writeConfiguration(
      listeners: Self.listeners, others: Self.settings(allowing: #""127.0.0.0/8""#))
    try await site.importDevices([Site.token(1)], interest: "news")
    let api = try site.pushrelay.start(["api"], directory: site.directory.path)
    let (_, id) = try await publish(
      "news", webhook: "http://127.0.0.1:\(server.port)/200", at: try await address(api))
    api.signal(SIGKILL)
    _ = try await api.result()

    try await site.whileServing { _ in
      let bodies = try await server.requests(2).map { try JSONValue(parsing: Array($0.body.utf8)) }
      #expect(bodies.map { $0["publishId"]?.string } == [id, id])
      #expect(bodies.map { $0["status"]?.string } == ["STARTED", "FINISHED"])
      #expect(bodies[1]["results"]?["apns"]?["numSuccessfulPublishes"]?.integer == 1)
    }
  }

  @Test("a proxy of the environment is not used: the address that is checked would be the proxy's")
  func proxies() async throws {
    let site = try await Site()
    let server = try await HookServer()
    try site.writeConfiguration(listeners: Self.listeners, others: Self.settings(allowing: #""127.0.0.1""#))
    let proxy = "http://127.0.0.1:\(try freePort())"
    let variables = ["http_proxy", "HTTPS_PROXY", "ALL_PROXY"].map { ($0, proxy) }
    let relay = try site.pushrelay.start(
      ["serve"], environment: BuiltProgram.defaultEnvironment.merging(variables) { $1 }, directory: site.directory.path)

    _ = try await publish("news", webhook: "http://127.0.0.1:\(server.port)/200", at: try await address(relay))

    #expect(try await server.requests(1).count >= 1)
    relay.signal(SIGTERM)
    #expect(try await relay.result().status == 0)
  }
}
