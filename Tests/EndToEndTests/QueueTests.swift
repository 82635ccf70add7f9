import Foundation
import Glibc
import JSON
import Operations
import Support
import Testing

@Suite("The queue from outside", .timeLimit(.minutes(5)))
struct QueueTests {
  @Test("a fan-out survives kill -9 in the middle: nothing lost, one receipt a device, few doubled")
  func killed() async throws {
    let count = 20_000
    let site = try await Site(simulatorOptions: ["--no-checks", "--delay", "20ms"])
    try await site.importDevices((1...count).map(Site.token), interest: "news")
    let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello", "--lane", "bulk").lines[0]

    let first = try await site.serve()
    try await eventually(within: .seconds(30), "some receipts are written") {
      try await site.sendpush("status", id, "--json").json()[0]["counts"]?.count("accepted") ?? 0 > 1000
    }
    first.signal(SIGKILL)
    _ = try await first.result()
    let status = try await site.whileServing { _ in
      try await site.sendpush("status", id, "--wait", "--timeout", "100s", "--json", deadline: .seconds(120))
    }

    #expect(status.status == 0, "\(status.text)")
    let counts = try #require(try status.json()[0]["counts"])
    #expect(counts.count("devices") == count && counts.count("accepted") == count, "\(status.text)")
    let receipts = try await site.sendpush("receipts", id, "--csv", "--show-tokens", deadline: .seconds(120)).lines
    #expect(Set(receipts.dropFirst()).count == count)
    #expect(receipts.dropFirst().allSatisfy { $0.contains(",accepted,") })
    let summary = try await site.summary()
    #expect(summary.count("distinct_devices") == count)
    #expect(summary.count("duplicates") <= 3200, "two batches in flight and one flush")
    #expect(summary.count("requests") - Int64(count) == summary.count("duplicates"))
  }

  @Test("a pause longer than the answers' time doubles nothing whose answer lies in the socket")
  func paused() async throws {
    let site = try await Site(simulatorOptions: ["--delay", "500ms"])
    try site.writeConfiguration(requestTimeout: "3s")
    try await site.importDevices((1...500).map(Site.token), interest: "news")

    let status = try await site.whileServing { relay in
      // Proves the credential, so that all of the next goes out at once.
      let first = try await site.sendpush("enqueue", "--token", Site.token(1), "--title", "Hello").lines[0]
      _ = try await site.sendpush("status", first, "--wait")
      let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello").lines[0]
      try await eventually("all are at APNs") { try site.requests().count == 501 }
      relay.signal(SIGSTOP)
      let end = SystemClocks().monotonicTime() + .seconds(4)
      try await eventually("the answers and their time have passed") { SystemClocks().monotonicTime() > end }
      relay.signal(SIGCONT)
      return try await site.sendpush("status", id, "--wait", "--timeout", "30s", "--json")
    }

    #expect(try status.json()[0]["counts"]?.count("accepted") == 500)
    #expect(try await site.summary().count("duplicates") == 0)
  }

  @Test("SIGTERM lets open streams finish and exits 0; a second signal ends at once with 130")
  func shutdown() async throws {
    let site = try await Site(simulatorOptions: ["--delay", "1s"])
    try await site.importDevices((1...100).map(Site.token), interest: "news")
    let relay = try await site.serve()
    let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello").lines[0]
    try await eventually("it is being sent") {
      try await site.sendpush("status", id, "--json").json()[0]["state"]?.string == "sending"
    }

    relay.signal(SIGTERM)
    let end = try await relay.result()

    #expect(end.status == 0, "\(end.text)")
    let again = try await site.whileServing { _ in
      try await site.sendpush("status", id, "--wait", "--timeout", "30s", "--json")
    }
    #expect(try again.json()[0]["counts"]?.count("accepted") == 100)
    #expect(try await site.summary().count("duplicates") == 0)

    let slow = try await Site(simulatorOptions: ["--delay", "60s"])
    _ = try await slow.pushrelay("device", "add", "--token", Site.token(1), "--interest", "news")
    let second = try await slow.serve()
    let waiting = try await slow.sendpush("enqueue", "--interest", "news", "--title", "Hello").lines[0]
    try await eventually("it is being sent") {
      try await slow.sendpush("status", waiting, "--json").json()[0]["state"]?.string == "sending"
    }
    second.signal(SIGTERM)
    _ = try await second.errorLine(containing: "stopping")
    second.signal(SIGINT)
    #expect(try await second.result().status == 130)
  }

  private static func canBeFirstProcess() async throws -> Bool {
    try await BuiltProgram(path: "/usr/bin/unshare").run(["-Urpf", "/bin/true"]).status == 0
  }

  @Test(
    "as the first process of a container the relay heeds SIGTERM",
    .enabled("this user may make no process namespace") { try await canBeFirstProcess() })
  func firstProcess() async throws {
    let site = try await Site()
    let container = try BuiltProgram(path: "/usr/bin/unshare").start(
      ["-Urpf", "--kill-child", site.pushrelay.path, "serve"], directory: site.directory.path)
    _ = try await container.errorLine(containing: "serving")
    let children = try String(
      contentsOfFile: "/proc/\(container.processID)/task/\(container.processID)/children", encoding: .utf8)
    let relay = try #require(children.split(separator: " ").first.flatMap { pid_t($0) })

    #expect(kill(relay, SIGTERM) == 0)
    let end = try await container.result()

    #expect(end.status == 0 && end.errorOutput.contains("stopped"), "\(end.text)")
  }

  @Test("an idle relay ends at once: it waits neither for its grace nor for its next look at the queue")
  func idle() async throws {
    let site = try await Site()
    try site.writeConfiguration(shutdownGrace: "60s")
    let relay = try await site.serve()

    relay.signal(SIGTERM)

    #expect(try await relay.result(within: .seconds(20)).status == 0)
  }

  @Test("an idempotency key enqueues once; another content under it is refused")
  func idempotency() async throws {
    let site = try await Site()
    func enqueue(_ title: String) async throws -> ProgramResult {
      try await site.sendpush("enqueue", "--interest", "news", "--title", title, "--idempotency-key", "k1")
    }

    let first = try await enqueue("One")
    let again = try await enqueue("One")
    let other = try await enqueue("Two")

    #expect(first.status == 0 && again.status == 0)
    #expect(first.lines == again.lines)
    #expect(other.status == 65 && other.output.isEmpty, "\(other.text)")
  }

  @Test("cancel stops a scheduled notification; a second cancel says that it is final")
  func cancel() async throws {
    let site = try await Site()
    _ = try await site.pushrelay("device", "add", "--token", Site.token(1), "--interest", "news")
    let id = try await site.sendpush(
      "enqueue", "--interest", "news", "--title", "Hello", "--send-at",
      ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 3600))
    ).lines[0]
    #expect(try await site.sendpush("status", id, "--json").json()[0]["state"]?.string == "scheduled")

    let canceled = try await site.sendpush("cancel", id, "--json")
    let again = try await site.sendpush("cancel", id)

    #expect(canceled.status == 0)
    #expect(try canceled.json()[0]["state"]?.string == "canceled")
    #expect(again.status == 65, "\(again.text)")
  }

  @Test("an app that was paused keeps its notifications; resumed, they go out")
  func pause() async throws {
    let site = try await Site()
    _ = try await site.pushrelay("device", "add", "--token", Site.token(1), "--interest", "news")
    #expect(try await site.pushrelay("app", "pause").status == 0)
    let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello").lines[0]
    #expect(try await site.sendpush("status", id, "--json").json()[0]["state"]?.string == "held")

    let status = try await site.whileServing { _ in
      #expect(try await site.pushrelay("app", "resume").status == 0)
      return try await site.sendpush("status", id, "--wait", "--timeout", "30s")
    }

    #expect(status.status == 0, "\(status.text)")
  }

  @Test("a wrong key pauses the app and burns no try; with the right key after SIGHUP everything goes out")
  func wrongKey() async throws {
    let site = try await Site()
    _ = try await site.pushrelay("device", "add", "--token", Site.token(1), "--interest", "news")
    try await Site.makeKey(site.directory.path(of: "other.p8"))
    try site.writeConfiguration(keyFile: "other.p8")

    let relay = try await site.serve()
    let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello").lines[0]
    let line = try await relay.errorLine(containing: "paused")
    #expect(line.contains("InvalidProviderToken"))
    try await eventually("it is held") {
      try await site.sendpush("status", id, "--json").json()[0]["state"]?.string == "held"
    }
    try site.writeConfiguration()
    relay.signal(SIGHUP)
    let status = try await site.sendpush("status", id, "--wait", "--timeout", "30s")
    relay.signal(SIGTERM)

    #expect(status.status == 0, "\(status.text) \(relay.errorOutput)")
    #expect(try await site.sendpush("receipts", id, "--json").json()[0]["attempts"]?.integer == 1)
    #expect(try await relay.result().status == 0)
  }

  @Test("bad rows of an import are named by line and stop nobody else")
  func badRows() async throws {
    let site = try await Site()

    let result = try await site.pushrelay(
      "device", "import", "-",
      input: "token,interests\n\(Site.token(1)),news sports\nzz,news\n\(Site.token(2)),\n\(Site.token(3)),a/b\n")

    #expect(result.status == 65)
    #expect(result.output.hasPrefix("2 registered, 0 refreshed, 2 bad rows"), "\(result.text)")
    #expect(result.errorOutput.contains("line 3:") && result.errorOutput.contains("line 5:"))
    let devices = try await site.pushrelay("device", "list", "--json").json()
    #expect(devices.count == 2)
    #expect(
      devices[0]["interests"]?.array?.compactMap(\.string) == ["news", "sports"]
        || devices[1]["interests"]?.array?.count == 2)
  }

  @Test("while a device is tried again, the status tells the last reason")
  func lastReason() async throws {
    let folder = try TemporaryDirectory()
    let script = try folder.write(#"{ "rules": [{ "do": { "reason": "TooManyRequests" } }] }"#, to: "busy.json")
    let site = try await Site(simulatorOptions: ["--script", script])

    let (status, waited) = try await site.whileServing { _ in
      let id = try await site.sendpush("enqueue", "--token", Site.token(1), "--title", "Hello").lines[0]
      try await eventually("the receipt is written") {
        try await site.sendpush("receipts", id).output.contains("TooManyRequests")
      }
      return (
        try await site.sendpush("status", id), try await site.sendpush("status", id, "--wait", "--timeout", "10ms")
      )
    }

    #expect(status.output.contains("the last reason is TooManyRequests"), "\(status.text)")
    #expect(waited.status == 75 && waited.errorOutput.contains("goes on by itself"), "\(waited.text)")
    #expect(waited.errorOutput.contains("TooManyRequests"), "\(waited.text)")
  }

  @Test("while APNs cannot be reached, the status and the app's say so and why")
  func unreachable() async throws {
    let site = try await Site()
    let port = try freePort()
    try site.writeConfiguration(address: "localhost:\(port)")
    let relay = try await site.serve()
    let id = try await site.sendpush("enqueue", "--token", Site.token(1), "--title", "Hello").lines[0]

    let words = "APNs at localhost:\(port): no connection can be made there"
    try await eventually("the status says it") { try await site.sendpush("status", id).output.contains(words) }
    let waited = try await site.sendpush("status", id, "--wait", "--timeout", "10ms")
    let app = try await site.pushrelay("app", "status")
    relay.signal(SIGTERM)
    _ = try await relay.result()
    try site.writeConfiguration()
    let after = try await site.whileServing { _ in
      _ = try await site.sendpush("status", id, "--wait")
      try await eventually("the app's trouble is over") {
        try await site.pushrelay("app", "status").output.contains("active\n")
      }
      return try await site.sendpush("status", id)
    }

    #expect(waited.status == 75 && waited.errorOutput.contains(words), "\(waited.text)")
    #expect(app.output.contains("active, but nothing could be sent since") && app.output.contains(words), "\(app.text)")
    #expect(after.output.contains("1 accepted"), "\(after.text)")
  }

  @Test("an apns-id that was chosen is the one that APNs got and the receipt shows")
  func chosenID() async throws {
    let site = try await Site()
    let chosen = "123e4567-e89b-12d3-a456-4266554400a0"

    let receipt = try await site.whileServing { _ in
      let id = try await site.sendpush(
        "enqueue", "--token", Site.token(1), "--title", "Hello", "--apns-id", chosen, "--wait", "--timeout", "30s"
      ).lines[0]
      return try await site.sendpush("receipts", id, "--json").json()[0]
    }

    #expect(receipt["apns_id"]?.string == chosen)
    #expect(try site.requests().map { $0["headers"]?["apns-id"]?.string } == [chosen])
  }

  @Test("what this version does not have is refused in those words")
  func notInThisVersion() async throws {
    let site = try await Site()
    for arguments in [["batch", "x.csv"], ["doctor"], ["enqueue", "--api", "http://x", "--title", "y"]] {
      let result = try await site.sendpush.run(arguments, directory: site.directory.path)
      #expect(result.status == 64 && result.errorOutput.contains("not in this version"), "\(result.text)")
    }
  }
}
