import Foundation
import JSON
import Support
import Testing

@Suite("The program")
struct ProgramTests {
  @Test("--help is on standard output with every option", .timeLimit(.minutes(1)))
  func help() async throws {
    let result = try await BuiltProgram("apns-simulator").run(["--help"])

    #expect(result.status == 0)
    #expect(result.errorOutput == "")
    for option in [
      "listen", "tls-dir", "tls-name", "team-id", "key-id", "key", "public-key", "topic", "device", "strict-devices",
      "log", "delay", "no-checks", "script", "control", "client-ca", "key-topics",
      "related-keys", "knob",
    ] {
      #expect(result.output.contains("--\(option)"))
    }
  }

  @Test(
    "a wrong command line ends with 64 and says what is wrong",
    arguments: [
      (["--no-check"], "'--no-checks'"),
      (["--config", "a"], "unknown option '--config'"),
      (["--json"], "unknown option '--json'"),
      (["--tls-dir", "a", "--no-checks", "--control", "127.0.0.1"], "--control must be"),
      (["--tls-dir", "a", "--no-checks", "--control", "192.0.2.1:1"], "--control must be"),
      ([], "--tls-dir is missing"),
      (["--tls-dir", "a"], "without a key no provider token is valid"),
      (["--tls-dir", "a", "--no-checks", "--listen", "2197"], "--listen must be"),
      (["--tls-dir", "a", "--no-checks", "--listen", "staging=127.0.0.1:0"], "--listen must be"),
      (["--tls-dir", "a", "--no-checks", "--listen", "::1:0"], "--listen must be"),
      (["--tls-dir", "a", "--no-checks", "--listen", "manage=127.0.0.1:0"], "manage-production=|manage-sandbox="),
      (["--tls-dir", "a", "--no-checks", "--listen", "manage-sandbox=:0"], "--listen must be"),
      (["--tls-dir", "a", "--no-checks", "--device", "0a=gone"], "--device must be"),
      (["--tls-dir", "a", "--no-checks", "--device", "0a=unregistered@soon"], "--device must be"),
      (["--tls-dir", "a", "--no-checks", "--listen", "127.0.0.1:+80"], "--listen must be"),
      (["--tls-dir", "a", "--no-checks", "--control", "127.0.0.1:+80"], "--control must be"),
      (["--tls-dir", "a", "--no-checks", "--device", "zz=ok"], "--device must be"),
      (["--tls-dir", "a", "--no-checks", "--topic", ""], "--topic: '' is no bundle id"),
      (["--tls-dir", "a", "--no-checks", "--topic", "a..b"], "--topic: 'a..b' is no bundle id"),
      (["--tls-dir", "a", "--no-checks", "--knob", "der=accept", "--knob=der=reject"], "'der' is given twice"),
      (withKey + ["--key-topics", "TESTKEY001=com.example.app,a..b"], "--key-topics: 'a..b' is no bundle id"),
      (["--tls-dir", "a", "--team-id", "a", "--key-id", "b"], "go in step"),
      (["--tls-dir", "a", "--no-checks", "--delay", "20"], "--delay"),
      (["--tls-dir", "a", "--no-checks", "--key-topics", "KEY"], "--key-topics must be ID=TOPIC,TOPIC, not 'KEY'"),
      (withKey + ["--key-topics", "TESTKEY002=com.example.app"], "no --key-id gives; the nearest is 'TESTKEY001'"),
      (withKey + ["--knob", "token_update=key"], "--knob: there is no 'token_update'; the nearest is 'token_updates'"),
      (withKey + ["--related-keys", "TESTKEY001=TESTKEY001"], "give --key-topics for both"),
    ])
  func usage(arguments: [String], message: String) async throws {
    let result = try await BuiltProgram("apns-simulator").run(arguments)

    #expect(result.status == 64)
    #expect(result.output == "")
    #expect(result.errorOutput.contains(message), "\(result.errorOutput)")
  }

  private static let withKey = [
    "--tls-dir", "a", "--team-id", "TESTTEAM01", "--key-id", "TESTKEY001", "--key",
    SimulatorFixture.path("testkey001.p8"),
  ]

  @Test("a key that is none ends with 78 and names the file", .timeLimit(.minutes(1)))
  func badKey() async throws {
    let file = SimulatorFixture.path("jwt-vectors.tsv")

    let result = try await BuiltProgram("apns-simulator").run([
      "--tls-dir", "a", "--team-id", "a", "--key-id", "b", "--key", file,
    ])

    #expect(result.status == 78)
    #expect(result.errorOutput.contains(file))
  }

  @Test("an address in use ends with 78", .timeLimit(.minutes(1)))
  func addressInUse() async throws {
    let simulator = try await SimulatorProcess(checks: false, logs: false)

    let result = try await BuiltProgram("apns-simulator").run([
      "--listen", "127.0.0.1:\(simulator.ports[0])", "--tls-dir", simulator.folder.path(of: "tls"), "--no-checks",
    ])

    #expect(result.status == 78)
    #expect(result.errorOutput.contains("127.0.0.1:\(simulator.ports[0])"))
  }

  @Test("each listener is printed with its port and environment", .timeLimit(.minutes(1)))
  func listeners() async throws {
    let simulator = try await SimulatorProcess(
      listeners: [
        "127.0.0.1:0", "production=localhost:0", "sandbox=[::1]:0", "manage-production=127.0.0.1:0",
        "manage-sandbox=localhost:0",
      ], checks: false, logs: false)

    let lines = simulator.program.output.split(separator: "\n")

    #expect(lines.count == 5)
    #expect(lines[0].wholeMatch(of: /listening on 127\.0\.0\.1:[1-9][0-9]* \(production\)/) != nil)
    #expect(lines[1].wholeMatch(of: /listening on localhost:[1-9][0-9]* \(production\)/) != nil)
    #expect(lines[2].wholeMatch(of: /listening on \[::1\]:[1-9][0-9]* \(sandbox\)/) != nil)
    #expect(lines[3].wholeMatch(of: /listening on 127\.0\.0\.1:[1-9][0-9]* \(manage-production\)/) != nil)
    #expect(lines[4].wholeMatch(of: /listening on localhost:[1-9][0-9]* \(manage-sandbox\)/) != nil)
  }

  @Test("SIGTERM and SIGINT end it with the summary and 0", .timeLimit(.minutes(1)), arguments: [SIGTERM, SIGINT])
  func signals(number: Int32) async throws {
    let simulator = try await SimulatorProcess()
    _ = try await simulator.push("0a0b", ["apns-id": "123e4567-e89b-12d3-a456-4266554400a0"])
    _ = try await simulator.push("0A0B", ["apns-id": "123e4567-e89b-12d3-a456-4266554400a0"])
    _ = try await simulator.push("0c", ["apns-priority": "2"])

    simulator.program.signal(number)
    let result = try await simulator.program.result()

    #expect(result.status == 0)
    #expect(
      result.lines.last
        == #"{"requests":3,"accepted":2,"by_reason":{"BadPriority":1},"distinct_devices":2,"duplicates":1,"#
        + #""provider_tokens":1,"connections":3,"max_streams":1,"violations":{"duplicate":1}}"#)
  }

  @Test("the certificate serves localhost, both loopback addresses and each --tls-name", .timeLimit(.minutes(1)))
  func certificateNames() async throws {
    let simulator = try await SimulatorProcess(
      ["--tls-name", "api.push.example.com"], listeners: ["127.0.0.1:0", "[::1]:0"])

    let localhost = try await simulator.push("0a", host: "localhost")
    let version6 = try await simulator.push("0a", port: simulator.ports[1], host: "[::1]")
    let named = try await simulator.push(
      "0a", host: "api.push.example.com",
      options: ["--connect-to", "api.push.example.com:\(simulator.ports[0]):127.0.0.1:\(simulator.ports[0])"])

    let statuses = [localhost.status, version6.status, named.status]
    #expect(statuses == [200, 200, 200])
  }

  @Test("certificates are kept until a name is missing, and the key is its owner's alone", .timeLimit(.minutes(1)))
  func certificateReuse() async throws {
    let folder = try TemporaryDirectory()
    let tls = folder.path(of: "tls")
    func start(_ options: [String] = []) async throws -> [Data] {
      let program = try BuiltProgram("apns-simulator").start(
        ["--listen", "127.0.0.1:0", "--tls-dir", tls, "--no-checks"] + options)
      _ = try await program.line(beginningWith: "listening on")
      program.signal(SIGTERM)
      _ = try await program.result()
      return try ["ca.pem", "cert.pem", "key.pem"].map { try Data(contentsOf: URL(filePath: "\(tls)/\($0)")) }
    }

    let first = try await start()
    let second = try await start()
    let third = try await start(["--tls-name", "other.example.com"])
    let fourth = try await start(["--tls-name", "other.example.com"])
    try Data("damaged".utf8).write(to: URL(filePath: "\(tls)/cert.pem"))
    let fifth = try await start()

    #expect(first == second)
    #expect(first != third)
    #expect(third == fourth)
    #expect(fifth[1] != Data("damaged".utf8))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: tls).sorted() == [
        "ca-key.pem", "ca.pem", "cert.pem", "key.pem",
      ])
    for key in ["key.pem", "ca-key.pem"] {
      let mode = try permissions("\(tls)/\(key)")
      #expect(mode == 0o600)
    }
    let check = try await BuiltProgram(path: "/usr/bin/openssl").run([
      "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "localhost", "-CAfile", "\(tls)/ca.pem",
      "\(tls)/cert.pem",
    ])
    #expect(check.status == 0, "\(check.errorOutput)")
  }

  private func permissions(_ path: String) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
  }
}
