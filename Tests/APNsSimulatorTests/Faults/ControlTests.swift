import JSON
import Operations
import Support
import Testing

@testable import APNsSimulator

@Suite("The control interface")
struct ControlTests {
  private func simulator(_ script: String = "{}") async throws -> LocalSimulator {
    try await LocalSimulator(script) { $0.control = SimulatorConfiguration.Listener() }
  }

  @Test("state shows the summary, the connections and the uses of rules", .timeLimit(.minutes(1)))
  func state() async throws {
    let simulator = try await simulator(#"{"rules":[{"limit":1},{"do":{"never_answer":true}}]}"#)
    let client = try simulator.client()
    try await client.push(1)
    client.peer.send(RawFrames.settingsAcknowledged)
    try client.send(3)
    try await client.settle()

    let (status, state) = try await simulator.control("GET", "/state")

    #expect(status == 200)
    #expect(state["summary"]?["requests"]?.integer == 2)
    #expect(state["summary"]?["by_reason"]?["silence"]?.integer == 1)
    #expect(state["rules"]?.array?.map { $0["uses"]?.integer } == [1, 1])
    let connection = try #require(state["connections"]?.array?.first)
    #expect(connection["connection"]?.integer == 1)
    #expect(connection["environment"]?.string == "production")
    #expect(connection["open_streams"]?.integer == 1)
    #expect(connection["stream_limit"]?.integer == 1000)
    #expect(connection["requests"]?.integer == 2)
    #expect(connection["going_away"]?.bool == false)
  }

  @Test("a script is replaced, or refused whole with every fault", .timeLimit(.minutes(1)))
  func script() async throws {
    let simulator = try await simulator()
    let client = try simulator.client()
    try await client.push(1)

    let good = try await simulator.control("PUT", "/script", #"{"rules":[{"do":{"reason":"Shutdown"}},{}]}"#)
    try await client.push(3)
    let bad = try await simulator.control("PUT", "/script", #"{"rules":[{"limit":0},{"do":0}]}"#)
    try await client.push(5)
    let none = try await simulator.control("PUT", "/script", "{}")
    try await client.push(7)

    #expect(good.status == 200 && good.body["rules"]?.integer == 2)
    #expect(bad.status == 400)
    #expect(bad.body["errors"]?.array?.map { $0["column"]?.integer } == [20, 29])
    #expect(none.status == 200)
    #expect(try simulator.log().map { $0["status"]?.integer } == [200, 503, 503, 200])
  }

  @Test("GOAWAY and SETTINGS go to one connection or to all", .timeLimit(.minutes(1)))
  func commands() async throws {
    let simulator = try await simulator()
    var clients: [RawClient] = []
    for _ in 1...2 {
      clients.append(try simulator.client())
      try await clients.last?.push(1)
    }

    let settings = try await simulator.control(
      "POST", "/settings", #"{"connection":1,"max_concurrent_streams":7}"#)
    let goAway = try await simulator.control("POST", "/goaway", #"{"then":"close","debug_data":"x"}"#)
    let ends = [try await clients[0].peer.framesToEnd(), try await clients[1].peer.framesToEnd()]
    let nobody = try await simulator.control("POST", "/goaway", #"{"connection":1}"#)

    #expect(settings.body["connections"]?.integer == 1)
    #expect(goAway.body["connections"]?.integer == 2)
    #expect(nobody.status == 404)
    let limits = ends.map { $0.filter { $0.type == 4 && $0.payload.count == 6 }.map { $0.number(at: 2) } }
    #expect(limits.map { $0.contains(7) } == [true, false])
    #expect(ends.map { $0.last { $0.type == 7 }?.payload.suffix(1) } == [[0x78], [0x78]])
  }

  @Test("a push for an offline device is stored, and delivered by the clock of the rules", .timeLimit(.minutes(1)))
  func deliveries() async throws {
    let simulator = try await simulator(#"{"rules":[{"match":{"request":3},"do":{"clock":"+2h"}}]}"#)
    let client = try simulator.client()
    func device(_ number: Int) -> String { String(repeating: "0\(number)", count: 32) }
    let soon = "\(SystemClocks().wallTime().seconds + 3600)"

    _ = try await simulator.control("POST", "/devices", #"{"\#(device(1))":"offline","\#(device(2))":"offline"}"#)
    try await client.push(1, [":path": "/3/device/\(device(1))", "apns-expiration": soon])
    try await client.push(3, [":path": "/3/device/\(device(2))"])
    // Two hours later, when the provider token is too old.
    try await client.push(5)
    _ = try await simulator.control("POST", "/devices", #"{"\#(device(1))":"ok","\#(device(2))":"ok"}"#)
    let log = try await simulator.control("GET", "/deliveries").body["deliveries"]?.array ?? []

    #expect(log.prefix(2).map { $0["state"]?.string } == ["stored", "stored"])
    let last = log.dropFirst(2).sorted { $0["device_token"]?.string ?? "" < $1["device_token"]?.string ?? "" }
    #expect(last.map { $0["state"]?.string } == ["expired", "delivered"])
    #expect(last.map { $0["device_token"]?.string } == [device(1), device(2)])
  }

  @Test("counters begin again, and devices get another fate", .timeLimit(.minutes(1)))
  func resetAndDevices() async throws {
    let simulator = try await simulator(#"{"rules":[{"match":{"request":1},"do":{"reason":"Shutdown"}}]}"#)
    let client = try simulator.client()
    try await client.push(1)

    let devices = try await simulator.control(
      "POST", "/devices", #"{"\#(RawClient.device)":"unregistered@1700000000000","0b":"bad"}"#)
    try await client.push(3)
    let reset = try await simulator.control("POST", "/reset")
    let empty = simulator.summary
    try await client.push(5)
    let wrong = try await simulator.control("POST", "/devices", #"{"0b":"gone"}"#)

    #expect(devices.body["devices"]?.integer == 2)
    #expect(reset.status == 200)
    #expect(empty == Summary())
    #expect(wrong.status == 400)
    #expect(try simulator.log().map { $0["reason"]?.string } == ["Shutdown", "Unregistered", "Shutdown"])
  }

  @Test("HEAD gets no content, and the host's name is this machine in capitals too", .timeLimit(.minutes(1)))
  func head() async throws {
    let simulator = try await simulator()
    let port = try #require(simulator.simulator.controlAddress?.split(separator: ":").last)
    let request = #"HEAD /state HTTP/1.1\r\nhost: LOCALHOST\r\n\r\n"#
    let script = "exec 3<>/dev/tcp/127.0.0.1/\(port); printf '\(request)' >&3; cat <&3"

    let result = try await BuiltProgram(path: "/bin/bash").run(["-c", script])

    #expect(result.output.hasPrefix("HTTP/1.1 405 "), "\(result)")
    #expect(result.output.hasSuffix("\r\n\r\n"), "\(result)")
  }

  @Test("what it does not know is refused", .timeLimit(.minutes(1)))
  func unknown() async throws {
    let simulator = try await simulator()
    let calls = [
      ("GET", "/", ""), ("DELETE", "/state", ""), ("POST", "/script", "{}"), ("POST", "/reset", "{}"),
      ("PUT", "/script", "{"), ("POST", "/goaway", #"{"stream":1}"#), ("POST", "/settings", #"{"max_streams":1}"#),
      ("GET", "/state?x", ""), ("POST", "/devices", #"{"zz":"ok"}"#), ("POST", "/devices", #"{"0":"ok"}"#),
    ]

    var statuses: [Int] = []
    for (method, path, body) in calls { statuses.append(try await simulator.control(method, path, body).status) }

    #expect(statuses == [404, 405, 405, 400, 400, 400, 400, 404, 400, 400])
  }

  @Test("the program says where it is controlled, also without checks", .timeLimit(.minutes(1)))
  func program() async throws {
    let simulator = try await SimulatorProcess(["--control", "127.0.0.1:0"], checks: false, logs: false)

    let line = try #require(simulator.program.output.split(separator: "\n").last)

    let address = try #require(line.wholeMatch(of: /control on (127\.0\.0\.1:[1-9][0-9]*)/)?.output.1)
    let state = try await BuiltProgram(path: "/usr/bin/curl").run(["--silent", "http://\(address)/state"])
    #expect(state.output.hasPrefix(#"{"summary":{"requests":0,"#))
  }
}
