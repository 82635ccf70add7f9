import Foundation
import Glibc
import JSON
import Support

/// A relay with all its surfaces beside a simulator, and what its clients must know.
final class SeedSite: Sendable {
  static let instance = "00000000-0000-4000-8000-00000000beef"
  static let secret = "0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF"
  private static let otherTopic = "com.example.other"

  let directory: TemporaryDirectory
  let simulator: RunningProgram
  let relay: RunningProgram
  /// Where the relay listens, without TLS.
  let plain: String
  /// The key of a backend.
  let apiKey: String
  /// The file with what clients must know.
  let settings: String

  init(more: String = "") async throws {
    let directory = try TemporaryDirectory()
    self.directory = directory
    let key = directory.path(of: "key.p8")
    try await BuiltProgram(path: "/usr/bin/openssl").run([
      "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key,
    ])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
    simulator = try BuiltProgram("apns-simulator").start([
      "--listen", "production=127.0.0.1:0", "--listen", "sandbox=127.0.0.1:0", "--tls-dir", directory.path(of: "tls"),
      "--team-id", PeerSite.team, "--key-id", PeerSite.keyID, "--key", key, "--log", directory.path(of: "apns.jsonl"),
    ])
    func port(_ environment: String, _ simulator: RunningProgram) async throws -> String {
      let line = try await simulator.line { $0.hasSuffix("(\(environment))") }
      return String(line.split(separator: " ")[2].split(separator: ":")[1])
    }
    let (production, sandbox) = (try await port("production", simulator), try await port("sandbox", simulator))
    let credential = #""team_id": "\#(PeerSite.team)", "key_id": "\#(PeerSite.keyID)", "key_file": "key.p8""#
    let all = #""serve": ["backend", "device", "beams", "operations"]"#
    try directory.write(
      """
      { "store": "sqlite:relay.db", \(more)
        "apps": [{ "topic": "\(PeerSite.topic)", \(credential) }, { "topic": "\(Self.otherTopic)", \(credential) }],
        "listeners": [{ "address": "127.0.0.1:0", \(all) },
                      { "address": "127.0.0.1:0", "tls": { "cert": "tls/cert.pem", "key": "tls/key.pem" }, \(all) }],
        "apns": { "production": "localhost:\(production)", "sandbox": "localhost:\(sandbox)", "ca_file": "tls/ca.pem" },
        "device_api": { "default_topic": "\(PeerSite.topic)", "open_endpoints": ["tokens", "delete_token", "notify"] },
        "beams": [{ "instance_id": "\(Self.instance)", "secret_key": "\(Self.secret)",
                    "topics": ["\(PeerSite.topic)", "\(Self.otherTopic)"] }] }
      """, to: "pushrelay.json")
    let pushrelay = try BuiltProgram("pushrelay")
    let added = try await pushrelay.run(["key", "add", "--name", "seed", "--json"], directory: directory.path)
    let apiKey = try JSONValue(parsing: Array(added.output.utf8))["key"]?.string ?? ""
    self.apiKey = apiKey
    relay = try pushrelay.start(["serve"], directory: directory.path)
    _ = try await relay.errorLine(containing: "serving")
    let addresses = relay.errorOutput.split(separator: "\n").compactMap { line in
      line.split(separator: " ").first { $0.hasPrefix("address=") }.map { String($0.dropFirst("address=".count)) }
    }
    guard addresses.count >= 2, let tlsPort = addresses[1].split(separator: ":").last else {
      throw SupportError("no addresses: \(relay.errorOutput)")
    }
    plain = addresses[0]
    var writer = JSONWriter()
    writer.object {
      $0.member("relay", "http://\(addresses[0])")
      $0.member("tls", "localhost:\(tlsPort)")
      $0.member("authority", directory.path(of: "tls/ca.pem"))
      $0.member("log", directory.path(of: "apns.jsonl"))
      $0.member("instance", Self.instance)
      $0.member("secret", Self.secret)
      $0.member("topic", PeerSite.topic)
      $0.member("other_topic", Self.otherTopic)
      $0.member("api_key", apiKey)
    }
    settings = try directory.write(writer.text, to: "settings.json")
  }

  /// What the simulator has answered so far.
  func logged() throws -> [JSONValue] { try JSONLines.read(directory.path(of: "apns.jsonl")) }

  /// What the simulator has answered once the relay has ended.
  func requests() async throws -> [JSONValue] {
    relay.signal(SIGTERM)
    let end = try await relay.result()
    guard end.status == 0 else { throw SupportError("the relay ended with \(end.status): \(end.errorOutput)") }
    return try logged()
  }
}
