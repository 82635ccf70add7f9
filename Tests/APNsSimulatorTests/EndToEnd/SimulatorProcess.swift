import Foundation
import JSON
import OpenSSL
import Operations
import Support
import Testing

/// A running `apns-simulator` with a folder of its own, known key TESTKEY001, and a log.
final class SimulatorProcess: Sendable {
  let folder: TemporaryDirectory
  let program: RunningProgram
  let ports: [Int]

  /// Starts it with `--listen` once for each of `listeners` and waits until it listens.
  init(
    _ options: [String] = [], listeners: [String] = ["127.0.0.1:0"], checks: Bool = true, keys: Bool = true,
    logs: Bool = true, script: String? = nil
  ) async throws {
    let folder = try TemporaryDirectory()
    let scripted = try script.map { ["--script", try folder.write($0, to: "script.json")] } ?? []
    let key = SimulatorFixture.path("testkey001.p8")
    let credentials =
      !checks ? ["--no-checks"] : keys ? ["--team-id", "TESTTEAM01", "--key-id", "TESTKEY001", "--key", key] : []
    let log = logs ? ["--log", folder.path(of: "log")] : []
    let program = try BuiltProgram("apns-simulator").start(
      listeners.flatMap { ["--listen", $0] } + ["--tls-dir", folder.path(of: "tls")] + credentials + log + scripted
        + options)
    // All lines are written at once.
    _ = try await program.line(beginningWith: "listening on ")
    self.folder = folder
    self.program = program
    ports = program.output.split(separator: "\n").compactMap { line in
      guard line.hasPrefix("listening") else { return nil }
      return line.split(separator: " ").dropFirst(2).first?.split(separator: ":").last.flatMap { Int($0) }
    }
  }

  var authorityFile: String { folder.path(of: "tls/ca.pem") }

  /// The objects of the log so far.
  func log() throws -> [JSONValue] { try JSONLines.read(folder.path(of: "log")) }

  /// Ends it with SIGTERM; its summary.
  func summary() async throws -> JSONValue {
    program.signal(SIGTERM)
    let result = try await program.result()
    #expect(result.status == 0)
    #expect(result.errorOutput == "")
    return try JSONValue(parsing: Array(try #require(result.lines.last).utf8))
  }

  /// A request by curl with these fields alone and a fresh provider token.
  func send(
    _ method: String, _ path: String, _ headers: [String: String] = [:], body: String? = nil, listener: Int = 0
  ) async throws -> CurlAnswer {
    let usual = ["authorization": "bearer \(try Self.providerToken.get())"]
    let fields = usual.merging(headers) { $1 }.flatMap { ["--header", "\($0.key): \($0.value)"] }
    let data = try body.map { ["--data-binary", "@\(try folder.write($0, to: "body"))"] } ?? []
    let result = try await BuiltProgram(path: "/usr/bin/curl").run(
      ["--silent", "--show-error", "--include", "--http2", "--cacert", authorityFile, "--request", method] + data
        + fields + ["https://127.0.0.1:\(ports[listener])\(path)"])
    #expect(result.status == 0, "\(result.errorOutput)")
    return try CurlAnswer(result.output)
  }

  /// A push by curl, to `127.0.0.1` and with a fresh provider token unless told otherwise.
  func push(
    _ deviceToken: String, _ headers: [String: String] = [:], body: String = #"{"aps":{"alert":"a"}}"#,
    port: Int? = nil,
    host: String = "127.0.0.1", options: [String] = []
  ) async throws -> CurlAnswer {
    let usual = ["authorization": "bearer \(try Self.providerToken.get())", "apns-topic": "com.example.app"]
    let fields = usual.merging(headers) { $1 }.flatMap { ["--header", "\($0.key): \($0.value)"] }
    let bodyFile = try folder.write(body, to: "body")
    let result = try await BuiltProgram(path: "/usr/bin/curl").run(
      ["--silent", "--show-error", "--include", "--http2", "--cacert", authorityFile, "--data-binary", "@\(bodyFile)"]
        + fields
        + options + ["https://\(host):\(port ?? ports[0])/3/device/\(deviceToken)"])
    #expect(result.status == 0, "\(result.errorOutput)")
    return try CurlAnswer(result.output)
  }

  /// One provider token for the whole test run, as a sender has one for a process.
  static let providerToken = Result<String, any Error> {
    let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"TESTKEY001"}"#.utf8))
    let issuedAt = SystemClocks().wallTime().seconds
    let claims = Base64URL.encode(Array(#"{"iss":"TESTTEAM01","iat":\#(issuedAt)}"#.utf8))
    let key = try ES256PrivateKey(pem: SimulatorFixture.text("testkey001.p8"))
    let signature = try key.sign(Array("\(header).\(claims)".utf8))
    return "\(header).\(claims).\(Base64URL.encode(signature))"
  }
}

/// What `curl --include` printed.
struct CurlAnswer {
  var status = 0
  var headers: [String: String] = [:]
  var body = ""

  init(_ text: String) throws {
    let parts = text.replacing("\r\n", with: "\n").split(
      separator: "\n\n", maxSplits: 1, omittingEmptySubsequences: false)
    let lines = parts[0].split(separator: "\n")
    status = try #require(lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) })
    for line in lines.dropFirst() {
      let field = line.split(separator: ":", maxSplits: 1)
      headers[String(field[0])] = field.count > 1 ? field[1].trimmingCharacters(in: .whitespaces) : ""
    }
    body = parts.count > 1 ? String(parts[1]) : ""
  }
}
