import Foundation
import Operations
import Support
import Testing

@testable import APNsSimulator

@Suite("Reading a script")
struct ScriptTests {
  /// A script and its only fault.
  struct Fault: Sendable, CustomTestStringConvertible {
    var script: String
    var fault: String
    var testDescription: String { script }
  }

  static func rule(_ text: String, _ fault: String) -> Fault { Fault(script: #"{"rules":[\#(text)]}"#, fault: fault) }

  static let faults = [
    Fault(script: "", fault: "1:1: the text is empty"),
    Fault(script: "[]", fault: "1:1: must be an object, not an array"),
    Fault(script: #"{"rules":{}}"#, fault: "1:10: must be an array of rules, not an object"),
    Fault(script: "{\n  \"ruls\": []\n}", fault: "2:3: 'ruls' is unknown; the nearest known name is 'rules'"),
    Fault(script: #"{"seed":-1}"#, fault: "1:9: must be a whole number from 0 to \(Int.max), not -1"),
    rule(#"{"limit":0}"#, "1:20: must be a whole number from 1 to 1000000000, not 0"),
    rule(#"{"at":"start"}"#, "1:17: must be one of connection, request, not \"start\""),
    rule(#"{"match":{"storm":{}}}"#, "1:21: 'storm' is unknown; the nearest known name is 'from'"),
    rule(
      #"{"at":"connection","match":{"token":"0a"}}"#, "1:39: 'token' is unknown; the nearest known name is 'storm'"),
    rule(#"{"match":{"probability":2}}"#, "1:35: must be a number from 0 to 1, not 2"),
    rule(#"{"do":{"status":99}}"#, "1:27: must be a whole number from 200 to 999, not 99"),
    rule(#"{"do":{"status":"500"}}"#, "1:27: must be a whole number from 200 to 999, not \"500\""),
    rule(#"{"do":{"stats":500}}"#, "1:18: 'stats' is unknown; the nearest known name is 'status'"),
    rule(#"{"do":{"reason":"New"}}"#, "1:17: a reason that is not Apple's needs a status"),
    rule(#"{"do":{"delay":300}}"#, "1:26: must be a duration such as \"500ms\", not 300"),
    rule(#"{"do":{"delay":"3"}}"#, "1:26: '3' is not a duration such as 500ms, 90s, 5m, 1h30m or 30d"),
    rule(#"{"do":{"clock":"1h"}}"#, "1:26: must be \"+DURATION\" or \"-DURATION\", such as \"+70m\", not \"1h\""),
    rule(#"{"do":{"refuse":true}}"#, "1:18: 'refuse' is possible only in \"at\": \"connection\""),
    rule(#"{"at":"connection","do":{"status":500}}"#, "1:36: 'status' is possible only in a rule without \"at\""),
    rule(#"{"do":{"never_answer":false}}"#, "1:33: must be true or left out, not false"),
    rule(
      #"{"do":{"never_answer":true,"status":500}}"#,
      "1:17: an answer and none exclude each other: drop never_answer and rst_stream, or what makes the answer"),
    rule(#"{"do":{"close":"now"}}"#, "1:26: must be one of tls, fin, reset, not \"now\""),
    rule(
      #"{"at":"connection","do":{"certificate":"old"}}"#,
      "1:50: must be one of expired, not_yet_valid, wrong_host, unknown_ca, not \"old\""),
    rule(#"{"at":"connection","do":{"tls":"1.2"}}"#, "1:42: must be one of 1.0, 1.1, not \"1.2\""),
    rule(#"{"at":"connection","do":{"alpn":"h2"}}"#, "1:43: must be one of none, http/1.1, not \"h2\""),
    rule(#"{"do":{"alpn":"none"}}"#, "1:18: 'alpn' is possible only in \"at\": \"connection\""),
    rule(
      #"{"do":{"rst_stream":["CALM"]}}"#,
      "1:32: must be an error code of HTTP/2 such as \"REFUSED_STREAM\", or its number, not \"CALM\""),
    rule(
      #"{"do":{"goaway":{"last_stream":-1}}}"#,
      "1:42: must be \"last\", \"this\", \"max\" (2147483647) or a stream's number, not -1"),
    rule(
      #"{"do":{"settings":{"max_header_list_size":8001}}}"#, "1:53: must be a whole number from 0 to 8000, not 8001"),
    rule(
      #"{"do":{"headers":{"Retry-After":"7"}}}"#, "1:29: the name of a field has small letters, digits and '-' only"),
    rule(#"{"do":{"remove_topic":{"key":"a"}}}"#, "1:33: needs \"topic\""),
    rule(
      #"{"do":{"switch_environment":{"key":"a","environment":"test"}}}"#,
      "1:64: must be \"production\", \"sandbox\", or null for both, not \"test\""),
    rule(#"{"do":{"broadcast_capability":{"topic":"a"}}}"#, #"1:41: needs "topic", a bundle id, and "on""#),
    rule(
      #"{"do":{"broadcast_capability":{"topic":"a","on":"no"}}}"#, #"1:59: must be true or false, not "no""#),
    rule(#"{"do":{"rst_stream":[]}}"#, "1:31: the array is empty"),
    rule(#"{"do":{"goaway":[]}}"#, "1:27: the array is empty"),
    rule(#"{"do":{"apns_id":"a\u0000"}}"#, "1:28: has a control character"),
    rule(#"{"match":{"from":3,"until":2}}"#, "1:20: nothing is from 3 until 2"),
    rule(#"{"limit":1,"limit":2}"#, "1:22: 'limit' is given twice"),
  ]

  @Test("what a script may not say is refused with its place", arguments: faults)
  func refused(test: Fault) throws {
    let error = #expect(throws: ScriptError.self) { try FaultScript(parsing: Array(test.script.utf8)) }

    #expect(error?.faults.map(\.description) == [test.fault])
  }

  @Test("all faults are reported, in the order of the file")
  func everyFault() throws {
    let text = """
      // a comment
      { "rules": [
        { "limit": 0, "do": { "status": 1, "body": 2 } },
        { "math": {} },
      ] }
      """
    let error = #expect(throws: ScriptError.self) { try FaultScript(parsing: Array(text.utf8)) }

    #expect(error?.faults.map { [$0.line, $0.column] } == [[3, 14], [3, 35], [3, 46], [4, 5]])
  }

  @Test("of many faults the first hundred are reported, and how many more there are")
  func manyFaults() throws {
    let rules = [String](repeating: #"{"limit":0}"#, count: 150).joined(separator: ",\n")
    let error = #expect(throws: ScriptError.self) { try FaultScript(parsing: Array("{\"rules\":[\n\(rules)]}".utf8)) }

    #expect(error?.faults.map(\.line) == Array(2...102))
    #expect(error?.faults.last?.description == "102:10: and 50 more from here on, 150 in all")
  }

  @Test("the time to read a large file grows with its size and no faster", .timeLimit(.minutes(1)))
  func largeFiles() throws {
    let rules = [String](repeating: #"{"limit":0}"#, count: 50_000).joined(separator: ",\n")
    let error = #expect(throws: ScriptError.self) { try FaultScript(parsing: Array("{\"rules\":[\(rules)]}".utf8)) }
    let devices = Array("{\((0..<200_000).map { #""\#(1_000_000 + $0)0":"ok""# }.joined(separator: ","))}".utf8)
    var reader = ScriptReader(devices)
    let states = reader.read(devices) { $0.devices($1) }

    #expect(error?.faults.last?.message == "and 49900 more from here on, 50000 in all")
    #expect(states?.count == 200_000)
  }

  @Test("a damaged script is refused or read, and never ends the program", .timeLimit(.minutes(1)))
  func damaged() throws {
    let whole = Array(try SimulatorFixture.text("scripts/everything.json").utf8)
    let digits = Array("0123456789-+.eE\"{}[],:tfn/".utf8)
    var state: UInt64 = 1
    func next(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    var refused = 0
    for _ in 0..<1500 {
      var bytes = whole
      for _ in 0...next(3) {
        let place = next(bytes.count)
        switch next(3) {
        case 0: bytes[place] = digits[next(digits.count)]
        case 1: bytes.remove(at: place)
        default: bytes.insert(digits[next(digits.count)], at: place)
        }
      }
      do throws(ScriptError) {
        _ = try FaultScript(parsing: bytes)
      } catch {
        refused += 1
        #expect(!error.faults.isEmpty)
      }
    }

    #expect((300..<1500).contains(refused))
  }

  @Test("every script of the fixtures can be read")
  func fixtures() throws {
    let folder = SimulatorFixture.path("scripts")
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)

    #expect(names.count >= 13)
    for name in names { #expect(!(try FaultScript(file: "\(folder)/\(name)")).rules.isEmpty, "\(name)") }
  }

  @Test("everything.json shows every action")
  func everyAction() throws {
    let text = try SimulatorFixture.text("scripts/everything.json")

    for action in FaultAction.all { #expect(text.contains("\"\(action.name)\": "), "\(action.name)") }
  }

  @Test("a script with faults ends the program with 65 and names file, line and column", .timeLimit(.minutes(1)))
  func program() async throws {
    let folder = try TemporaryDirectory()
    let file = try folder.write("{ \"rules\": [\n{ \"limit\": 0 }, { \"do\": [] } ] }", to: "faults.json")

    let result = try await BuiltProgram("apns-simulator").run(["--tls-dir", "a", "--no-checks", "--script", file])
    let missing = try await BuiltProgram("apns-simulator").run(["--tls-dir", "a", "--no-checks", "--script", "/none"])

    #expect(result.status == 65)
    #expect(result.errorOutput.contains("\(file):2:12: must be a whole number from 1 to 1000000000, not 0"))
    #expect(result.errorOutput.contains("\(file):2:25: must be an object, not an array"))
    #expect(missing.status == 65)
    #expect(missing.errorOutput.contains("/none"))
  }
}

@Suite("Which rule of a script is used")
struct MatchTests {
  static func numbers(_ match: String, limit: String = "", of facts: [FaultFacts]) throws -> [Int] {
    let script = try FaultScript(parsing: Array(#"{"seed":3,"rules":[{\#(limit)"match":{\#(match)}}]}"#.utf8))
    var running = RunningScript(script)
    return facts.filter { running.take($0) != nil }.map(\.number)
  }

  /// Twelve requests: devices 0a, 0b and 0c in turn, four on each of three connections.
  static var requests: [FaultFacts] {
    (1...12).map { number in
      FaultFacts(
        moment: .request, number: number, tokenRequest: (number - 1) / 3 + 1, connectionRequest: (number - 1) % 4 + 1,
        connection: (number - 1) / 4 + 1, deviceToken: ["0A", "0b", "0c"][(number - 1) % 3],
        topic: number > 6 ? "com.example.app" : nil)
    }
  }

  @Test(
    "conditions",
    arguments: [
      (#""request":5"#, [5]),
      (#""every":4"#, [4, 8, 12]),
      (#""from":11"#, [11, 12]),
      (#""from":3,"until":5"#, [3, 4, 5]),
      (#""from":3,"until":9,"every":3"#, [3, 6, 9]),
      (#""token":"0a""#, [1, 4, 7, 10]),
      (#""token":"0B","token_request":2"#, [5]),
      (#""topic":"com.example.app","until":8"#, [7, 8]),
      (#""connection":2"#, [5, 6, 7, 8]),
      (#""connection_request":4"#, [4, 8, 12]),
      (#""connection":3,"connection_request":1"#, [9]),
      (#""probability":0"#, []),
      (#""probability":1"#, Array(1...12)),
    ])
  func conditions(match: String, numbers: [Int]) throws {
    #expect(try Self.numbers(match, of: Self.requests) == numbers)
  }

  @Test("a limit counts uses")
  func limit() throws {
    #expect(try Self.numbers(#""token":"0a""#, limit: #""limit":2,"#, of: Self.requests) == [1, 4])
  }

  @Test("the first rule that matches is used, and a later one when its limit is reached")
  func order() throws {
    let text = #"{"rules":[{"limit":1,"match":{"token":"0a"}},{"at":"connection"},{"match":{"until":4}},{}]}"#
    var running = RunningScript(try FaultScript(parsing: Array(text.utf8)))

    let used = Self.requests.prefix(6).map { running.take($0)?.index }

    #expect(used == [0, 2, 2, 2, 3, 3])
    #expect(running.uses == [1, 0, 3, 2])
  }

  @Test("draws have the share asked for, and are the same again for the same seed")
  func probability() throws {
    let facts = (1...10_000).map { FaultFacts(moment: .request, number: $0, connection: 1) }

    let first = try Self.numbers(#""probability":0.2"#, of: facts)
    let second = try Self.numbers(#""probability":0.2"#, of: facts)

    #expect(first == second)
    #expect((1800...2200).contains(first.count))
    #expect(zip(first, first.dropFirst()).contains { $1 - $0 == 1 } && first != Array(first.indices.map { $0 * 5 }))
  }

  @Test("a storm is more connections than allowed within the time")
  func storm() throws {
    var injector = FaultInjector(
      try FaultScript(
        parsing: Array(
          #"{"rules":[{"at":"connection","match":{"storm":{"connections":2,"within":"1s"}},"do":{"refuse":true}}]}"#
            .utf8)))
    let times: [UInt64] = [0, 400, 800, 1500, 3000]

    let refused = times.enumerated().map { number, time in
      injector.greeting(for: UInt64(number + 1), now: MonotonicTime(nanoseconds: time * 1_000_000)).greeting.refuses
    }

    #expect(refused == [false, false, true, false, false])
  }
}
