import Foundation
import Glibc
import JSON
import Support

/// A place of its own to run the three programs in: a key, a simulator with a CA of its own, a config file, a store.
final class Site: Sendable {
  static let topic = "com.example.dashboard"
  static let team = "ABCDE12345"
  static let keyID = "KEY1234567"

  let directory: TemporaryDirectory
  let pushrelay: BuiltProgram
  let sendpush: BuiltProgram
  /// The running simulator and where it listens.
  let simulator: RunningProgram
  let address: String

  /// Starts a simulator with these options beside the usual ones.
  init(simulatorOptions: [String] = []) async throws {
    directory = try TemporaryDirectory()
    pushrelay = try BuiltProgram("pushrelay")
    sendpush = try BuiltProgram("sendpush")
    try await Self.makeKey(directory.path(of: "AuthKey_\(Self.keyID).p8"))
    simulator = try BuiltProgram("apns-simulator").start(
      [
        "--listen", "production=127.0.0.1:0", "--tls-dir", directory.path(of: "tls"), "--team-id", Self.team,
        "--key-id", Self.keyID, "--key", directory.path(of: "AuthKey_\(Self.keyID).p8"), "--log",
        directory.path(of: "apns.jsonl"),
      ] + simulatorOptions)
    let line = try await simulator.line(beginningWith: "listening on ")
    address = String(line.dropFirst("listening on ".count).prefix { $0 != " " })
    try writeConfiguration()
  }

  /// A fresh P-256 key, as Apple's portal gives them.
  static func makeKey(_ path: String) async throws {
    try await BuiltProgram(path: "/usr/bin/openssl").run([
      "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", path,
    ])
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
  }

  /// Writes `pushrelay.json`; the defaults are this site's own.
  func writeConfiguration(
    topic: String = Site.topic, keyFile: String = "AuthKey_\(Site.keyID).p8", address: String? = nil,
    authorities: String = "tls/ca.pem", requestTimeout: String = "20s", proxy: String? = nil,
    shutdownGrace: String = "5s", store: String = "sqlite:relay.db", listeners: String = "[]",
    others: String? = nil
  ) throws {
    try directory.write(
      """
      {
        "store": "\(store)",
        "apps": [{ "topic": "\(topic)", "environment": "production", "team_id": "\(Self.team)", "key_id": "\(Self.keyID)",
                   "key_file": "\(keyFile)" }],
        "apns": { "production": "\(address ?? self.address)", "ca_file": "\(authorities)", "proxy": \(proxy.map { "\"\($0)\"" } ?? "null"),
                  "request_timeout": "\(requestTimeout)" },
        "shutdown_grace": "\(shutdownGrace)", "listeners": \(listeners)\(others.map { ", \($0)" } ?? "")
      }
      """, to: "pushrelay.json")
  }

  /// Runs `sendpush` in the site's folder.
  func sendpush(
    _ arguments: String..., environment: [String: String] = [:], input: String = "", deadline: Duration = .seconds(60)
  ) async throws -> ProgramResult {
    try await sendpush.run(
      arguments, input: Array(input.utf8), environment: BuiltProgram.defaultEnvironment.merging(environment) { $1 },
      directory: directory.path, deadline: deadline)
  }

  /// The port of the simulator.
  var port: UInt16 { address.split(separator: ":").last.flatMap { UInt16($0) } ?? 0 }

  /// Runs `pushrelay` in the site's folder.
  func pushrelay(_ arguments: String..., input: String = "", deadline: Duration = .seconds(60)) async throws
    -> ProgramResult
  {
    try await pushrelay.run(arguments, input: Array(input.utf8), directory: directory.path, deadline: deadline)
  }

  /// Starts `pushrelay serve` and waits until it works.
  func serve(_ options: String...) async throws -> RunningProgram {
    let relay = try pushrelay.start(["serve"] + options, directory: directory.path)
    _ = try await relay.errorLine(containing: "serving")
    return relay
  }

  /// Runs `body` beside a relay and stops the relay gracefully.
  func whileServing<Result>(_ body: (RunningProgram) async throws -> Result) async throws -> Result {
    let relay = try await serve()
    let result: Result
    do {
      result = try await body(relay)
    } catch {
      throw SupportError("\(error); the relay wrote:\n\(relay.errorOutput)")
    }
    relay.signal(SIGTERM)
    let end = try await relay.result()
    guard end.status == 0 else { throw SupportError("the relay ended with \(end.status):\n\(end.errorOutput)") }
    return result
  }

  /// Registers devices for an interest through a CSV file.
  func importDevices(_ tokens: [String], interest: String) async throws {
    let rows = tokens.map { "\($0),\(interest)" }
    let result = try await pushrelay(
      "device", "import", "-", input: (["token,interests"] + rows).joined(separator: "\n") + "\n",
      deadline: .seconds(120))
    guard result.status == 0 else { throw SupportError("import: \(result)") }
  }

  /// The requests that the simulator has logged.
  func requests() throws -> [JSONValue] { try JSONLines.read(directory.path(of: "apns.jsonl")) }

  /// Stops the simulator and gives its summary.
  func summary() async throws -> JSONValue {
    simulator.signal(SIGTERM)
    let result = try await simulator.result()
    guard let line = result.lines.last else { throw SupportError("no summary: \(result)") }
    return try JSONValue(parsing: Array(line.utf8))
  }

  /// A device token that no other has.
  static func token(_ number: Int = Int.random(in: 1...Int.max)) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 64 - digits.utf8.count) + digits
  }
}

extension JSONValue {
  /// The number of a member, or 0.
  func count(_ name: String) -> Int64 { self[name]?.integer ?? 0 }
}

extension ProgramResult {
  /// The lines of standard output as JSON.
  func json() throws -> [JSONValue] { try lines.map { try JSONValue(parsing: Array($0.utf8)) } }
  /// What people see of a failed check.
  var text: String { "status \(status)\n\(output)\(errorOutput)" }
}
