import Glibc
import JSON
import Support
import Testing

@Suite(
  "The sender against a server on python3-h2", .timeLimit(.minutes(2)),
  .enabled(if: Peer.isUsable(Peer.h2Package), "install python3-h2 to run these"))
struct H2ServerTests {
  @Test("each answer of APNs is understood, and every field of the request is in order")
  func answers() async throws {
    let site = try await PeerSite()
    let tokens = (1...6).map { PeerSite.token($0) }
    let server = try await H2Server(
      site,
      plan: """
        {"limit": 1, "later_limit": 100, "answers": {
          "\(tokens[1])": [[400, {}, "{\\"reason\\":\\"BadDeviceToken\\"}"]],
          "\(tokens[2])": [[410, {}, "{\\"reason\\":\\"Unregistered\\",\\"timestamp\\":1700000000000}"]],
          "\(tokens[3])": [[429, {}, "{\\"reason\\":\\"TooManyRequests\\"}"]],
          "\(tokens[4])": [[503, {"retry-after": "7"}, "{\\"reason\\":\\"ServiceUnavailable\\"}"]],
          "\(tokens[5])": [[500, {}, "<html>not JSON</html>"]]}}
        """)

    let (result, receipts) = try await site.send(to: tokens, port: server.port)

    let seen = tokens.map { token in
      "\(receipts[token]?["status"]?.integer ?? 0) \(receipts[token]?["reason"]?.string ?? "-")"
    }
    #expect(
      seen == [
        "200 -", "400 BadDeviceToken", "410 Unregistered", "429 TooManyRequests", "503 ServiceUnavailable",
        "500 HTTP 500",
      ], "\(result.text)")
    #expect(result.status == 75)
    let requests = try await server.events("request")
    #expect(requests.count == tokens.count)
    for request in requests { checkRequest(request) }
    #expect(try await server.events("violation").isEmpty)
    let settings = try await server.events("settings").first?["settings"]
    #expect(settings?["2"]?.integer == 0, "server push is refused")
  }

  private func checkRequest(_ request: JSONValue) {
    let headers = request["headers"]
    let names = request["names"]?.array?.compactMap(\.string) ?? []
    #expect(names.prefix(4).allSatisfy { $0.hasPrefix(":") } && names.dropFirst(4).allSatisfy { !$0.hasPrefix(":") })
    #expect(headers?[":method"]?.string == "POST" && headers?[":scheme"]?.string == "https")
    #expect(headers?[":authority"]?.string?.hasPrefix("localhost") == true)
    #expect(headers?[":path"]?.string?.hasPrefix("/3/device/0") == true)
    #expect(headers?["apns-topic"]?.string == PeerSite.topic && headers?["apns-push-type"]?.string == "alert")
    #expect(headers?["apns-priority"]?.string == "10")
    #expect(headers?["apns-id"]?.string?.split(separator: "-").map(\.utf8.count) == [8, 4, 4, 4, 12])
    #expect(headers?["apns-expiration"]?.string.flatMap { Int($0) } != nil)
    let authorization = headers?["authorization"]?.string ?? ""
    #expect(authorization.hasPrefix("bearer ") && authorization.split(separator: ".").count == 3)
    for forbidden in ["connection", "te", "transfer-encoding", "host", "cookie"] {
      #expect(headers?[forbidden] == nil)
    }
    #expect(request["body"]?.string?.contains("Grüße") == true)
  }

  @Test("as many streams are open as the server takes, which raises its limit after the first request")
  func streamLimit() async throws {
    let site = try await PeerSite()
    let server = try await H2Server(site, plan: #"{"limit": 1, "later_limit": 10}"#)
    let tokens = (1...300).map { PeerSite.token($0) }

    let (result, receipts) = try await site.send(to: tokens, port: server.port)

    #expect(result.status == 0 && receipts.count == tokens.count, "\(result.text)")
    #expect(receipts.values.allSatisfy { $0["status"]?.integer == 200 })
    let open = try await server.events("opened").compactMap { $0["open"]?.integer }
    #expect(open.allSatisfy { $0 <= 10 })
    #expect(try await server.events("request").count == tokens.count)
    #expect(try await server.events("violation").isEmpty)
  }

  @Test("103, CONTINUATION, padding, trailers, PING and changing SETTINGS are taken as HTTP/2 has them")
  func oddAnswers() async throws {
    let site = try await PeerSite()
    let tokens = (1...120).map { PeerSite.token($0) }
    let server = try await H2Server(
      site,
      plan: """
        {"limit": 20, "odd": true, "answers": {
          "\(tokens[40])": [[410, {}, "{\\"reason\\":\\"Unregistered\\",\\"timestamp\\":1700000000000}"]]}}
        """)

    let (result, receipts) = try await site.send(to: tokens, port: server.port)

    #expect(result.status == 1 && receipts.count == tokens.count, "\(result.text)")
    #expect(receipts[tokens[40]]?["reason"]?.string == "Unregistered")
    #expect(receipts.values.count { $0["status"]?.integer == 200 } == tokens.count - 1, "\(result.text)")
    #expect(try await server.events("request").count == tokens.count)
    #expect(try await server.events("violation").isEmpty)
  }

  @Test("the relay tries again what was refused for a time, and nothing else")
  func relay() async throws {
    let site = try await PeerSite()
    let tokens = (1...100).map { PeerSite.token($0) }
    let server = try await H2Server(
      site,
      plan: """
        {"limit": 1, "later_limit": 20, "goaway_after": 40, "answers": {
          "\(tokens[10])": [[503, {"retry-after": "1"}, "{\\"reason\\":\\"ServiceUnavailable\\"}"], [200, {}, ""]],
          "\(tokens[20])": [[500, {}, "{\\"reason\\":\\"InternalServerError\\"}"], [200, {}, ""]],
          "\(tokens[30])": [[410, {}, "{\\"reason\\":\\"Unregistered\\",\\"timestamp\\":1700000000000}"]]}}
        """)
    try site.writeConfiguration(port: server.port)
    try await site.importDevices(tokens, interest: "news")
    let relay = try await site.serve()

    let enqueued = try await site.sendpush(
      "enqueue", "--interest", "news", "--title", "Grüße", "--lane", "urgent", "--wait", "--json")
    relay.signal(SIGTERM)
    let end = try await relay.result()

    #expect(enqueued.status == 1 && end.status == 0, "\(enqueued.text)\n\(end.text)")
    let id = try JSONValue(parsing: Array((enqueued.lines.first ?? "").utf8))["id"]?.string ?? ""
    let status = try await site.sendpush("status", id, "--json")
    let counts = try JSONValue(parsing: Array((status.lines.first ?? "").utf8))["counts"]
    #expect(counts?["accepted"]?.integer == 99 && counts?["rejected"]?.integer == 1, "\(status.text)")
    let paths = try await server.events("request").compactMap { $0["headers"]?[":path"]?.string }
    let repeated = Dictionary(grouping: paths, by: { $0 }).filter { $0.value.count > 1 }.keys
    #expect(Set(repeated) == ["/3/device/\(tokens[10])", "/3/device/\(tokens[20])"])
    #expect(try await server.events("violation").isEmpty)
  }

  @Test("after a GOAWAY the rest goes over a new connection, and what was not processed is sent again, once")
  func goAway() async throws {
    let site = try await PeerSite()
    let server = try await H2Server(site, plan: #"{"limit": 8, "goaway_after": 60}"#)
    let tokens = (1...150).map { PeerSite.token($0) }

    let (result, receipts) = try await site.send(to: tokens, port: server.port)

    #expect(result.status == 0 && receipts.count == tokens.count, "\(result.text)")
    #expect(receipts.values.allSatisfy { $0["status"]?.integer == 200 })
    let requests = try await server.events("request", afterClosing: 2)
    #expect(try await server.events("connection").count >= 3)
    #expect(try await server.events("violation").isEmpty)
    let answered = Set(requests.compactMap { $0["headers"]?[":path"]?.string })
    #expect(answered.count == tokens.count)
  }
}
