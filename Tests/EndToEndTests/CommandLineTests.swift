import Foundation
import JSON
import Support
import Testing

@Suite("Command lines: what is wrong is said, and the code tells its kind", .timeLimit(.minutes(3)))
struct CommandLineTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let words: [String]
    let status: Int32
    let says: [String]
    var saysNot: [String] = []
    var testDescription: String { words.joined(separator: " ") }
  }

  private func check(_ cases: [Case], at desk: Desk) async throws {
    for one in cases {
      let result = try await desk.run(one.words)
      #expect(result.status == one.status, "\(one.words): \(result.text)")
      for words in one.says { #expect(result.text.contains(words), "'\(words)' of \(one.words): \(result.text)") }
      for words in one.saysNot { #expect(!result.text.contains(words), "'\(words)' of \(one.words): \(result.text)") }
    }
  }

  private static let send = ["sendpush", "send", "--token", "abcd"]

  @Test("faults are named by their options and found together; the code is the first of the list")
  func options() async throws {
    try await check(
      [
        Case(
          words: ["sendpush", "send", "--token", "zz", "--title", "x", "--config", "/nonexistent"], status: 65,
          says: ["--token: the device token", "/nonexistent", "seen from the working directory"],
          saysNot: ["bundle id", "no app"]),
        Case(
          words: ["pushrelay", "device", "add", "--token", "zz", "--config", "nowhere"], status: 65, says: ["token"]),
        Case(words: ["sendpush", "status", "x", "--config", "nowhere"], status: 64, says: ["no notification id"]),
        Case(
          words: ["sendpush", "send", "--title", "x", "--badge", "y"], status: 64, says: ["--badge", "--everyone"]),
        Case(words: Self.send, status: 64, says: ["--title, --body", "--payload"], saysNot: ["payload:"]),
        Case(
          words: ["sendpush", "send", "--token", "ab", "--token", "zz", "--data", "a=1", "--data", "b"], status: 65,
          says: ["--token no. 2: ", "--data no. 2: "], saysNot: ["target", "data["]),
        Case(
          words: Self.send + ["--title", "x", "--expires-in", "99999d", "--push-type", "alrt"], status: 65,
          says: ["--expires-in: ", "--push-type: "], saysNot: ["expires_in", "push_type"]),
        Case(
          words: Self.send + ["--title", "x", "--expires-in", "1m", "--expiration", "0"], status: 64,
          says: ["either --expires-in or --expiration"]),
        Case(words: Self.send + ["--payload", "pushrelay.json"], status: 65, says: ["--payload @pushrelay.json"]),
        Case(
          words: Self.send + ["--title", "x", "--host", "https://x"], status: 64, says: ["flag --host: error: "],
          saysNot: ["sandbox"]),
        Case(
          words: ["sendpush", "enqueue", "--login-approval", "--email", "jane", "--hash", "h"], status: 65,
          says: ["--email: ", "one @"]),
        Case(words: ["pushrelay", "--hlep"], status: 64, says: ["the nearest is '--help'"]),
        Case(words: ["pushrelay", "device", "import", "."], status: 65, says: ["Is a directory"]),
      ], at: try await Desk())
  }

  @Test("options that belong to another command are refused with its name")
  func elsewhere() async throws {
    var cases: [Case] = []
    for option in ["--idempotency-key", "--send-at"] {
      cases.append(Case(words: Self.send + [option, "x"], status: 64, says: ["belongs to sendpush enqueue"]))
    }
    for option in ["--host", "--ca", "--team-id", "--key-id", "--key"] {
      cases.append(
        Case(words: ["sendpush", "enqueue", option, "x"], status: 64, says: ["belongs to", "pushrelay serve"]))
    }
    cases.append(
      Case(
        words: ["sendpush", "enqueue", "--everyone", "--title", "x", "--timeout", "1s"], status: 64, says: ["--wait"]))
    cases.append(Case(words: ["sendpush", "status", "1", "--timeout", "1s"], status: 64, says: ["--wait"]))
    cases.append(
      Case(words: Self.send + ["--title", "x", "--wait", "--lane", "urgent", "--dry-run"], status: 0, says: []))
    try await check(cases, at: try await Desk())
  }

  @Test("bytes that are no text are refused, pipes and folders never waited for, closed streams are no files")
  func oddInputs() async throws {
    let desk = try await Desk()

    let title = try await desk.shell(#"$sendpush send --token abcd --title "$(printf 'a\377')""#)
    let pipes = try await desk.shell(
      "mkfifo pipe; $sendpush send --token abcd --payload @pipe; echo $?; $sendpush send --token abcd --payload @. ; echo $?; "
        + "$sendpush send --token abcd --title x --key pipe; echo $?; $pushrelay check --config pipe >/dev/null; echo $?"
    )
    let closed = try await desk.shell("$sendpush enqueue --everyone --title x <&- >&- 2>&-")
    let status = try await desk.run("pushrelay", "app", "status")

    #expect(title.status == 65 && title.errorOutput.contains("the value of --title is not UTF-8"), "\(title.text)")
    #expect(pipes.lines == ["65", "65", "78", "78"] && pipes.errorOutput.contains("no regular file"), "\(pipes.text)")
    #expect(closed.status == 0 && status.status == 0, "the store is whole: \(closed.text) \(status.text)")
  }

  @Test("what only reads makes no store, and says where it looked")
  func noStore() async throws {
    let desk = try await Desk()
    try await check(
      [
        ["pushrelay", "device", "list"], ["pushrelay", "device", "remove", "--token", "abcd"],
        ["pushrelay", "app", "status"], ["pushrelay", "app", "pause"], ["pushrelay", "app", "resume"],
        ["sendpush", "status", "1"], ["sendpush", "receipts", "1"], ["sendpush", "cancel", "1"],
        ["sendpush", "send", "--user", "u", "--title", "x"], ["sendpush", "send", "--interest", "i", "--title", "x"],
      ].map { Case(words: $0, status: 69, says: ["there is no store at relay.db"]) }
        + [Case(words: ["pushrelay", "check"], status: 0, says: ["it will be created", "all is well"])], at: desk)
    #expect(!desk.has("relay.db"))
  }

  @Test("what never signs needs no key; what signs names it")
  func noKey() async throws {
    let desk = try await Desk()
    let id = try await desk.run("sendpush", "enqueue", "--everyone", "--title", "x").lines[0]
    try FileManager.default.removeItem(atPath: desk.directory.path(of: "AuthKey_KEY1234567.p8"))

    try await check(
      [
        ["sendpush", "enqueue", "--everyone", "--title", "x"], ["sendpush", "status", id],
        ["sendpush", "receipts", id],
        ["sendpush", "cancel", id], ["pushrelay", "device", "add", "--token", "abcd"], ["pushrelay", "device", "list"],
        ["pushrelay", "app", "status"], ["pushrelay", "app", "pause"], ["pushrelay", "migrate"],
        Self.send + ["--title", "x", "--dry-run"],
      ].map { Case(words: $0, status: 0, says: [], saysNot: ["AuthKey"]) }
        + [["pushrelay", "check"], ["pushrelay", "serve"], Self.send + ["--title", "x"]].map {
          Case(words: $0, status: 78, says: ["AuthKey_KEY1234567.p8"])
        }, at: desk)
  }

  @Test("check ends 78 for whatever is wrong, at the setting's own place")
  func check() async throws {
    let desk = try await Desk()
    func run(_ status: Int32, _ says: String...) async throws {
      try await check([Case(words: ["pushrelay", "check"], status: status, says: says)], at: desk)
    }
    try await run(0, "all is well", "(pushrelay.json:2)", "(pushrelay.json:4)")

    try FileManager.default.setAttributes(
      [.posixPermissions: 0o644], ofItemAtPath: desk.directory.path(of: "AuthKey_KEY1234567.p8"))
    try await run(0, "the relay would start; 1 warning\n")
    try desk.directory.write("no key", to: "AuthKey_KEY1234567.p8")
    try await run(78, "pushrelay.json:4: error: apps[0].key_file names 'AuthKey_KEY1234567.p8'")
    try desk.directory.write("no certificate", to: "ca.pem")
    try desk.configure(more: #""apns": { "ca_file": "ca.pem" }"#)
    try await run(78, "pushrelay.json:5: error: apns.ca_file names 'ca.pem'", "2 things are wrong")
    try desk.directory.write("no database", to: "relay.db")
    try await run(78, "pushrelay.json:1: error: store cannot be used")
    try desk.directory.write(#"{ "apps": [{ "topic": "a.b" }] }"#, to: "pushrelay.json")
    let broken = try await desk.run("pushrelay", "check")
    #expect(broken.status == 78 && !broken.text.contains("no app is configured"), "\(broken.text)")
    try desk.directory.write("{}", to: "pushrelay.json")
    try await run(78, "no app is configured")
  }
}
