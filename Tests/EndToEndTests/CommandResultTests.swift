import Foundation
import JSON
import Support
import Testing

@Suite("What commands answer", .timeLimit(.minutes(3)))
struct CommandResultTests {
  @Test("with --json every command answers one object")
  func json() async throws {
    let desk = try await Desk()
    func object(_ words: String..., input: String = "") async throws -> JSONValue {
      let result = try await desk.run(words + ["--json"], input: input)
      #expect(result.status == 0 && result.lines.count == 1, "\(words): \(result.text)")
      return try #require(try result.json().first)
    }

    let migrated = try await object("pushrelay", "migrate")
    #expect(migrated["store"]?.string == "sqlite:relay.db" && migrated["from"]?.integer == 0)
    let added = try await object("pushrelay", "device", "add", "--token", "abcd", "--interest", "news")
    #expect(added["result"]?.string == "registered" && added["token"]?.string == "abcd")
    #expect(added["interests"]?.array?.compactMap(\.string) == ["news"])
    let imported = try await object("pushrelay", "device", "import", "-", input: "token\nabcd\nef01\n")
    #expect(imported.count("registered") == 1 && imported.count("refreshed") == 1 && imported["bad_rows"]?.integer == 0)
    let removed = try await object("pushrelay", "device", "remove", "--token", "ef01")
    #expect(removed["result"]?.string == "removed" && removed["topic"]?.string == Desk.topic)
    for result in ["pause", "resume"] {
      let answer = try await object("pushrelay", "app", result)
      #expect(answer["result"]?.string == "\(result)d" && answer["credentials"]?.array?.count == 2)
    }
    #expect(try await object("pushrelay", "check")["ok"]?.bool == true)
  }

  @Test("a dry run is JSON too, of a queued notification with whom it is for and when")
  func dryRun() async throws {
    let desk = try await Desk()

    let direct = try await desk.run(
      "sendpush", "send", "--token", "ab", "--token", "cd", "--title", "x", "--dry-run", "--json"
    ).json()
    let queued = try await desk.run(
      "sendpush", "enqueue", "--login-approval", "--email", "janedoe@pusher.com", "--hash", "h", "--dry-run", "--json"
    ).json()
    let text = try await desk.run(
      "sendpush", "enqueue", "--login-approval", "--email", "janedoe@pusher.com", "--hash", "h", "--dry-run")
    let mixed = try await desk.run(
      "sendpush", "enqueue", "--token", "ab", "--user", "u", "--title", "x", "--dry-run", "--json")

    #expect(direct.map { $0["path"]?.string } == ["/3/device/ab", "/3/device/cd"])
    #expect(direct[0]["method"]?.string == "POST" && direct[0]["host"]?.string == "api.push.apple.com:443")
    #expect(direct[0]["body"]?["aps"]?["alert"]?["title"]?.string == "x" && direct[0]["body_bytes"]?.integer == 31)
    #expect(direct[0]["headers"]?["apns-topic"]?.string == Desk.topic && direct[0]["target"] == nil)
    #expect(queued.count == 1 && queued[0]["lane"]?.string == "urgent")
    #expect(queued[0]["target"]?["interests"]?.array?.map(\.string) == ["auth-janedoe-at-pushercom"])
    #expect(queued[0]["send_at"]?.isNull == true && queued[0]["deadline"]?.string?.hasSuffix("Z") == true)
    for words in ["target: interest auth-janedoe-at-pushercom\n", "lane: urgent\n", "send-at: now\n", "deadline: 20"] {
      #expect(text.output.contains(words), "\(text.text)")
    }
    #expect(try mixed.json().count == 1 && mixed.errorOutput.contains("several kinds (tokens, users)"), "\(mixed.text)")
    #expect(!desk.has("relay.db"))
  }

  @Test("whoever waits in vain is told why: no relay, a pause, a time that has not come")
  func waiting() async throws {
    let desk = try await Desk()
    func enqueue(_ options: String...) async throws -> String {
      try await desk.run(["sendpush", "enqueue", "--everyone", "--title", "x"] + options).lines[0]
    }
    func wait(_ id: String) async throws -> String {
      let result = try await desk.run("sendpush", "status", id, "--wait", "--timeout", "10ms")
      #expect(result.status == 75, "\(result.text)")
      return result.errorOutput
    }
    let queued = try await enqueue()
    let scheduled = try await enqueue("--send-at", ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 900)))
    let past = try await desk.run(
      "sendpush", "enqueue", "--everyone", "--title", "x", "--wait", "--expiration",
      String(Int(Date().timeIntervalSince1970) - 11))

    #expect(try await wait(queued).contains("is pushrelay serve running?"))
    #expect(try await wait(scheduled).contains("it is sent from 20"))
    #expect(past.status == 75 && past.errorOutput.contains("deadline has passed"), "\(past.text)")
    #expect(past.errorOutput.contains("is pushrelay serve running?"), "\(past.text)")
    _ = try await desk.run("pushrelay", "app", "pause")
    let held = try await enqueue()
    for text in [try await wait(held), try await desk.run("sendpush", "status", held).output] {
      #expect(text.contains("by an operator") && text.contains("pushrelay app resume --topic \(Desk.topic)"), "\(text)")
    }
  }

  @Test("a pause is the app's: its other topics are paused with it, also those that become known later")
  func wholeApp() async throws {
    let desk = try await Desk()
    func states() async throws -> [String?] {
      try await desk.run("pushrelay", "app", "status", "--topic", "\(Desk.topic).voip", "--json").json()
        .map { $0["state"]?.string }
    }
    for suffix in ["", ".voip"] {
      _ = try await desk.run("pushrelay", "device", "add", "--token", "abcd", "--topic", Desk.topic + suffix)
    }

    let paused = try await desk.run("pushrelay", "app", "pause")
    #expect(paused.lines.count == 4 && paused.output.contains("\(Desk.topic).voip"), "\(paused.text)")
    _ = try await desk.run("pushrelay", "device", "add", "--token", "abcd", "--topic", "\(Desk.topic).complication")
    #expect(try await states() == Array(repeating: "paused", count: 6))
    let resumed = try await desk.run("pushrelay", "app", "resume", "--topic", "\(Desk.topic).complication")
    #expect(resumed.lines.count == 6, "\(resumed.text)")
    #expect(try await states() == Array(repeating: "active", count: 6))
    for command in ["status", "pause", "resume"] {
      let unknown = try await desk.run("pushrelay", "app", command, "--topic", "com.example.other")
      #expect(unknown.status == 78, "\(unknown.text)")
    }
  }
}
