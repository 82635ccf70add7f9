import Foundation
import Glibc
import JSON
import PushCore
import StoreSQLite
import Support
import Testing

/// The programs with listeners, as a backend in front of them sees them.
@Suite(.timeLimit(.minutes(3))) struct HTTPTests {
  /// Calls by curl, as scripts do; the status and the body.
  private func curl(_ url: String, _ options: String...) async throws -> (status: Int, body: String) {
    let result = try await BuiltProgram(path: "/usr/bin/curl").run(
      ["--silent", "--show-error", "--max-time", "20", "--write-out", "\n%{http_code}"] + options + [url])
    let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
    guard result.status == 0, let status = lines.last.flatMap({ Int($0) }) else { throw SupportError(result.text) }
    return (status, lines.dropLast().joined(separator: "\n"))
  }

  private func key(_ site: Site, _ options: String...) async throws -> String {
    let result = try await site.pushrelay.run(
      ["key", "add", "--name", "test"] + options, directory: site.directory.path)
    guard result.status == 0, let key = result.lines.first else { throw SupportError(result.text) }
    return key
  }

  /// Where a program listens: the address of its log line.
  private func address(_ program: RunningProgram) async throws -> String {
    let line = try await program.errorLine(containing: "listening")
    guard let field = line.split(separator: " ").first(where: { $0.hasPrefix("address=") }) else {
      throw SupportError(line)
    }
    return String(field.dropFirst("address=".count))
  }

  private static func body(_ title: String = "Hello") -> String {
    #"{"topic":"\#(Site.topic)","target":{"interests":["news"]},"payload":{"aps":{"alert":{"title":"\#(title)"}}}}"#
  }

  @Test("a notification that a backend enqueues over HTTP arrives at APNs, and its receipt is read back")
  func roundTrip() async throws {
    let site = try await Site()
    try site.writeConfiguration(listeners: #"[{ "address": "127.0.0.1:0", "serve": ["backend", "operations"] }]"#)
    let key = try await key(site, "--actions", "send,read,devices")
    try await site.whileServing { relay in
      let base = "http://\(try await address(relay))"
      let authorization = "Authorization: Bearer \(key)"
      let device = try await curl(
        "\(base)/v1/devices/\(Site.token(1))", "-X", "PUT", "-H", authorization, "-d", #"{"interests":["news"]}"#)
      let enqueued = try await curl("\(base)/v1/notifications", "-H", authorization, "-d", Self.body())
      let id = try JSONValue(parsing: Array(enqueued.body.utf8))["id"]?.string ?? ""

      #expect(device.status == 201 && enqueued.status == 202)
      try await eventually("it is done") {
        try await curl("\(base)/v1/notifications/\(id)", "-H", authorization).body.contains(#""state":"done""#)
      }
      let receipts = try await curl("\(base)/v1/notifications/\(id)/receipts", "-H", authorization).body
      #expect(receipts.contains(#""outcome":"accepted""#) && receipts.contains(Site.token(1)))
      #expect(try site.requests().count == 1)
      #expect(try await curl("\(base)/readyz").status == 200)
      #expect(try await curl("\(base)/v1/apps/\(Site.topic)/pause", "-X", "POST", "-H", authorization).status == 403)
      #expect(try await curl("\(base)/metrics").body.contains("pushrelay_deliveries_total{outcome=\"accepted\"} 1\n"))
      #expect(!relay.errorOutput.contains(key))
    }
  }

  @Test("recipients named by token, user and interest each get their own text")
  func recipients() async throws {
    let site = try await Site()
    try site.writeConfiguration(listeners: #"[{ "address": "127.0.0.1:0", "serve": ["backend"] }]"#)
    let key = try await key(site)
    try await site.whileServing { relay in
      let base = "http://\(try await address(relay))/v1"
      let authorization = "Authorization: Bearer \(key)"
      for (number, body) in [
        (2, #"{"user":"ada"}"#), (3, #"{"interests":["news"]}"#), (4, #"{"user":"ada","interests":["news"]}"#),
      ] {
        let device = try await curl(
          "\(base)/devices/\(Site.token(number))", "-X", "PUT", "-H", authorization, "-d", body)
        #expect(device.status == 201)
      }
      let body = #"""
        {"topic":"\#(Site.topic)","payload":{"aps":{"alert":{"title":"For {{who}}"}},"{{who}}":1.10},"recipients":[
          {"token":"\#(Site.token(1))","values":{"who":"\"one\" 😀"}},{"user":"ada","values":{"who":"Ada\n"}},
          {"interest":"news","values":{"who":"readers"}}]}
        """#
      let answer = try await curl("\(base)/notifications", "-H", authorization, "-d", body)
      #expect(answer.status == 202, "\(answer.body)")
      let id = try JSONValue(parsing: Array(answer.body.utf8))["id"]?.string ?? ""
      try await eventually("it is done") {
        try await curl("\(base)/notifications/\(id)", "-H", authorization).body.contains(#""state":"done""#)
      }

      let titles = try site.requests().map {
        ($0["device_token"]?.string, $0["body"]?["aps"]?["alert"]?["title"]?.string)
      }
      let expected = [1: "For \"one\" 😀", 2: "For Ada\n", 3: "For readers", 4: "For Ada\n"]
      #expect(titles.count == 4)
      for (number, title) in expected { #expect(titles.contains { $0 == (Site.token(number), title) }, "\(titles)") }
      #expect(
        try site.requests().allSatisfy {
          $0["body"]?["{{who}}"]?.number?.text == "1.10" && $0["status"]?.integer == 200
        })
    }
  }

  @Test("the listeners run beside a worker of their own, over TLS, without key files; a revoked key is refused at once")
  func apiAlone() async throws {
    let site = try await Site()
    try site.writeConfiguration(
      keyFile: "elsewhere.p8",
      listeners:
        #"[{ "address": "127.0.0.1:0", "tls": { "cert": "tls/cert.pem", "key": "tls/key.pem" }, "serve": ["backend"] }]"#
    )
    let key = try await key(site)
    let api = try site.pushrelay.start(["api"], directory: site.directory.path)
    let base = "https://\(try await address(api))"
    let options = ["--cacert", site.directory.path(of: "tls/ca.pem"), "-H", "Authorization: Bearer \(key)"]

    let enqueued = try await curl(
      "\(base)/v1/notifications", options[0], options[1], options[2], options[3], "-d", Self.body())
    #expect(enqueued.status == 202)
    #expect(try await curl("\(base)/healthz", options[0], options[1]).status == 404)
    let listed = try await site.pushrelay("key", "list")
    #expect(listed.output.contains("test") && !listed.output.contains(key))
    #expect(try await site.pushrelay("key", "revoke", "1").status == 0)
    #expect(try await curl("\(base)/v1/apps", options[0], options[1], options[2], options[3]).status == 401)
    #expect(try await site.pushrelay("key", "revoke", "7").status == 65)
    api.signal(SIGTERM)
    #expect(try await api.result().status == 0)
  }

  @Test("an address that is taken, and a certificate that is none, are told with what to do")
  func badListeners() async throws {
    let site = try await Site()
    try site.directory.write("nonsense", to: "bad.pem")
    try site.writeConfiguration(listeners: #"[{ "address": "\#(site.address)", "serve": ["backend"] }]"#)
    let taken = try await site.pushrelay("api")
    try site.writeConfiguration(
      listeners:
        #"[{ "address": "127.0.0.1:0", "tls": { "cert": "bad.pem", "key": "tls/key.pem" }, "serve": ["backend"] }]"#)
    let untrusted = try await site.pushrelay("api")
    let checked = try await site.pushrelay("check")
    try site.writeConfiguration()
    let none = try await site.pushrelay("api")

    #expect(taken.status == 78 && taken.errorOutput.contains(site.address), "\(taken.text)")
    #expect(untrusted.status == 78 && untrusted.errorOutput.contains("bad.pem"), "\(untrusted.text)")
    #expect(checked.status == 78 && checked.output.contains("bad.pem"), "\(checked.text)")
    #expect(none.status == 78 && none.errorOutput.contains("listeners"), "\(none.text)")
  }

  @Test("what a killed relay had answered with 202 is there when it is started again", arguments: [1, 2])
  func kill(round: Int) async throws {
    let site = try await Site()
    try site.writeConfiguration(listeners: #"[{ "address": "127.0.0.1:0", "serve": ["backend"] }]"#)
    _ = try await site.pushrelay("device", "add", "--token", Site.token(1), "--interest", "news")
    let key = try await key(site)
    let relay = try await site.serve()
    let url = "http://\(try await address(relay))/v1/notifications"
    let load = try BuiltProgram(path: "/usr/bin/python3").start(["-c", Self.load, url, key, Self.body()])
    _ = try await load.line { Int($0.prefix { $0 != " " }).map { $0 >= 300 * round } ?? false }

    relay.signal(SIGKILL)
    let accepted = try await load.result().lines.compactMap { $0.split(separator: " ").last.map(String.init) }

    #expect(accepted.count >= 300)
    let second = try await site.serve()
    let store = try await SQLiteStore.open(site.directory.path(of: "relay.db"))
    for text in accepted {
      let id = try #require(NotificationID(text: text))
      try await eventually(within: .seconds(60), "\(id) is done") { try await store.status(id)?.state == .done }
    }
    await store.close()
    second.signal(SIGTERM)
    #expect(try await second.result().status == 0)
  }

  /// Enqueues from eight threads until the relay is gone; prints the number and the id of each 202.
  private static let load = """
    import http.client, json, sys, threading, urllib.parse
    url, key, body = urllib.parse.urlsplit(sys.argv[1]), sys.argv[2], sys.argv[3]
    lock, count = threading.Lock(), 0
    def work():
      global count
      try:
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
        while True:
          connection.request("POST", url.path, body, {"Authorization": "Bearer " + key})
          answer = connection.getresponse()
          text = answer.read()
          if answer.status != 202: continue
          with lock:
            count += 1
            print(count, json.loads(text)["id"], flush=True)
      except (OSError, http.client.HTTPException): pass
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    """
}
