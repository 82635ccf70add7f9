import Foundation
import Glibc
import JSON
import Support

/// A folder with a key, a simulator's certificates and a config file: what a sender and a peer need to meet.
final class PeerSite: Sendable {
  static let topic = "com.example.dashboard"
  static let team = "ABCDE12345"
  static let keyID = "KEY1234567"

  let directory: TemporaryDirectory
  let simulator: RunningProgram
  let simulatorPort: String

  init(simulatorOptions: [String] = []) async throws {
    directory = try TemporaryDirectory()
    try await BuiltProgram(path: "/usr/bin/openssl").run([
      "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", directory.path(of: "key.p8"),
    ])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory.path(of: "key.p8"))
    simulator = try BuiltProgram("apns-simulator").start(
      [
        "--listen", "127.0.0.1:0", "--tls-dir", directory.path(of: "tls"), "--team-id", Self.team, "--key-id",
        Self.keyID, "--key", directory.path(of: "key.p8"), "--log", directory.path(of: "apns.jsonl"),
      ] + simulatorOptions)
    let line = try await simulator.line(beginningWith: "listening on ")
    simulatorPort = String(line.split(separator: " ")[2].split(separator: ":")[1])
    try writeConfiguration(port: simulatorPort)
  }

  /// Writes `pushrelay.json` with APNs at `port` of this machine.
  func writeConfiguration(port: String) throws {
    try directory.write(
      """
      { "store": "sqlite:relay.db",
        "apps": [{ "topic": "\(Self.topic)", "team_id": "\(Self.team)", "key_id": "\(Self.keyID)", "key_file": "key.p8" }],
        "apns": { "production": "localhost:\(port)", "ca_file": "tls/ca.pem" } }
      """, to: "pushrelay.json")
  }

  /// Runs `sendpush` in the site's folder.
  func sendpush(_ arguments: String...) async throws -> ProgramResult {
    try await BuiltProgram("sendpush").run(arguments, directory: directory.path, deadline: .seconds(60))
  }

  /// Registers devices for an interest.
  func importDevices(_ tokens: [String], interest: String) async throws {
    let file = "token,interests\n" + tokens.map { "\($0),\(interest)\n" }.joined()
    let result = try await BuiltProgram("pushrelay").run(
      ["device", "import", "-"], input: Array(file.utf8), directory: directory.path)
    guard result.status == 0 else { throw SupportError(result.text) }
  }

  /// Starts the relay and waits until it works.
  func serve() async throws -> RunningProgram {
    let relay = try BuiltProgram("pushrelay").start(["serve"], directory: directory.path)
    _ = try await relay.errorLine(containing: "serving")
    return relay
  }

  var authority: String { directory.path(of: "tls/ca.pem") }
  var certificate: String { directory.path(of: "tls/cert.pem") }
  var certificateKey: String { directory.path(of: "tls/key.pem") }
  var key: String { directory.path(of: "key.p8") }

  /// Sends one push to each device token at `port` of this machine, and gives the receipts by device token.
  func send(to tokens: [String], port: String, options: [String] = []) async throws -> (
    result: ProgramResult, receipts: [String: JSONValue]
  ) {
    // No store, so that provider tokens are shared through a state file: in this folder, not the tester's.
    var environment = BuiltProgram.defaultEnvironment
    environment["HOME"] = directory.path
    let result = try await BuiltProgram("sendpush").run(
      ["send", "--json", "--show-tokens", "--title", "Grüße", "--host", "localhost:\(port)", "--timeout", "30s"]
        + options + tokens.flatMap { ["--token", $0] }, environment: environment, directory: directory.path,
      deadline: .seconds(60))
    var receipts: [String: JSONValue] = [:]
    for line in result.lines {
      let receipt = try JSONValue(parsing: Array(line.utf8))
      receipts[receipt["device_token"]?.string ?? ""] = receipt
    }
    return (result, receipts)
  }

  /// A device token that ends in `last`.
  static func token(_ number: Int, last: Character = "0") -> String {
    let digits = String(number, radix: 16) + String(last)
    return String(repeating: "0", count: 64 - digits.utf8.count) + digits
  }
}

extension ProgramResult {
  /// What people see of a failed check.
  var text: String { "status \(status)\n\(output.prefix(2000))\n\(errorOutput.prefix(2000))" }
}
