import Foundation
import Glibc
import JSON
import PushCore
import StoreSQLite
import Support
import Testing

@Suite("sendpush send tells why a push does not come", .timeLimit(.minutes(3)))
struct SendTests {
  private func send(_ site: Site, _ options: String...) async throws -> ProgramResult {
    try await site.sendpush.run(
      ["send", "--token", Site.token(7), "--title", "Hello", "--timeout", "5s"] + options,
      directory: site.directory.path, deadline: .seconds(30))
  }

  @Test("an accepted push: one line, exit 0; in JSON every field of the contract")
  func accepted() async throws {
    let site = try await Site()

    let line = try await send(site)
    let json = try await send(site, "--json", "--show-tokens")

    #expect(line.status == 0 && line.output.hasPrefix("accepted"), "\(line.text)")
    let receipt = try #require(try json.json().first)
    let names = receipt.object?.map(\.name)
    #expect(
      names == [
        "notification_id", "apns_id", "topic", "environment", "device_token", "outcome", "status", "reason",
        "timestamp", "attempts", "latency_ms",
      ])
    #expect(receipt["device_token"]?.string == Site.token(7))
    #expect(receipt["status"]?.integer == 200 && receipt["outcome"]?.string == "accepted")
  }

  private func scripted(_ rules: String) async throws -> Site {
    let folder = try TemporaryDirectory()
    return try await Site(simulatorOptions: ["--script", try folder.write("{\"rules\":[\(rules)]}", to: "script.json")])
  }

  @Test("a push that a GOAWAY leaves out goes again on another connection")
  func leftOut() async throws {
    let site = try await scripted(#"{"limit":1,"do":{"goaway":{"last_stream":0,"then":"close"}}}"#)

    let result = try await send(site)

    #expect(result.status == 0 && result.output.hasPrefix("accepted"), "\(result.text)")
  }

  @Test("a push that APNs refuses to process each time: 75, and words that are true of it")
  func refusedStream() async throws {
    let site = try await scripted(#"{"do":{"rst_stream":"REFUSED_STREAM"}}"#)

    let result = try await site.sendpush("send", "--token", Site.token(7), "--title", "Hello")

    #expect(result.status == 75, "\(result.text)")
    #expect(
      result.errorOutput.contains("it did not process the push")
        && result.errorOutput.contains("Nothing was delivered"), "\(result.text)")
  }

  @Test("a push for which no stream was free in the time was not sent, and says so")
  func noStream() async throws {
    let site = try await scripted(
      #"{"at":"connection","do":{"settings":{"max_concurrent_streams":0}}}, {"do":{"rst_stream":"REFUSED_STREAM"}}"#)

    let result = try await site.sendpush("send", "--token", Site.token(7), "--title", "Hello", "--timeout", "2s")

    #expect(result.status == 75, "\(result.text)")
    #expect(result.output.contains("NotSent"), "\(result.text)")
  }

  @Test("the notification id of a receipt is the collapse id that APNs got")
  func notificationID() async throws {
    let site = try await Site()

    let receipt = try #require(try await send(site, "--json").json().first)

    #expect(receipt["notification_id"]?.string?.isEmpty == false)
    #expect(try site.requests().first?["headers"]?["apns-collapse-id"]?.string == receipt["notification_id"]?.string)
  }

  @Test("a push whose deadline is past is not sent: expired, no attempt, exit 1")
  func expired() async throws {
    let site = try await Site()

    let result = try await send(site, "--json", "--expiration", "1600000000")

    #expect(result.status == 1, "\(result.text)")
    let receipt = try #require(try result.json().first)
    #expect(receipt["outcome"]?.string == "expired" && receipt["attempts"]?.integer == 0)
    #expect(try site.requests().isEmpty)
  }

  @Test("a push to a user reaches the devices whose user was proved, and no others")
  func verifiedUsers() async throws {
    let site = try await Site()
    _ = try await site.pushrelay("device", "add", "--token", Site.token(1), "--user", "jane")
    let store = try await SQLiteStore.open(site.directory.path(of: "relay.db"))
    _ = try await store.register([
      DeviceRegistration(
        topic: Site.topic, environment: .production, token: DeviceToken(stored: Site.token(2)), user: .set("jane"))
    ])
    await store.close()

    let result = try await site.sendpush("send", "--user", "jane", "--title", "Hello", "--json", "--show-tokens")

    #expect(result.status == 0, "\(result.text)")
    #expect(try result.json().map { $0["device_token"]?.string } == [Site.token(1)])
  }

  @Test("a wrong port: 69, and the message says that nothing listens there")
  func wrongPort() async throws {
    let site = try await Site()

    let result = try await send(site, "--host", "127.0.0.1:\(try freePort())")

    #expect(result.status == 69, "\(result.text)")
    #expect(result.errorOutput.contains("refused"), "\(result.text)")
  }

  @Test("a wrong CA: 69, and the message names --ca")
  func wrongAuthority() async throws {
    let site = try await Site()
    let other = try await Site()

    let result = try await send(site, "--ca", other.directory.path(of: "tls/ca.pem"))

    #expect(result.status == 69, "\(result.text)")
    #expect(result.errorOutput.contains("certificate") && result.errorOutput.contains("--ca"), "\(result.text)")
  }

  @Test("a host that accepts and says nothing: 69 within the time that was given")
  func deadHost() async throws {
    let site = try await Site()
    let silent = try SilentListener()
    let start = ContinuousClock.now

    let result = try await send(site, "--host", "127.0.0.1:\(silent.port)")

    #expect(result.status == 69, "\(result.text)")
    #expect(ContinuousClock.now - start < .seconds(8))
    #expect(result.errorOutput.contains("TLS"), "\(result.text)")
  }

  @Test("a key that APNs does not know: 78, and the three suspects are named")
  func wrongKey() async throws {
    let site = try await Site()
    try await Site.makeKey(site.directory.path(of: "other.p8"))

    let result = try await send(site, "--key", "other.p8")

    #expect(result.status == 78, "\(result.text)")
    let text = result.output + result.errorOutput
    #expect(text.contains("InvalidProviderToken"), "\(result.text)")
    for suspect in ["key ID", "team ID", "revoked"] {
      #expect(text.lowercased().contains(suspect.lowercased()), "\(suspect): \(result.text)")
    }
  }

  @Test("a topic that the key is not for: 78 with TopicDisallowed")
  func wrongTopic() async throws {
    let site = try await Site(simulatorOptions: ["--topic", "com.example.other"])

    let result = try await send(site)

    #expect(result.status == 78, "\(result.text)")
    #expect((result.output + result.errorOutput).contains("TopicDisallowed"), "\(result.text)")
  }

  @Test("of three devices one is rejected: one line each, exit 1")
  func partly() async throws {
    let bad = Site.token(3)
    let site = try await Site(simulatorOptions: ["--device", "\(bad)=bad"])

    let result = try await site.sendpush(
      "send", "--token", Site.token(1), "--token", Site.token(2), "--token", bad, "--title", "Hello", "--json")

    #expect(result.status == 1, "\(result.text)")
    #expect(try result.json().count == 3)
    #expect(try result.json().filter { $0["reason"]?.string == "BadDeviceToken" }.count == 1)
  }

  @Test(
    "bad input is refused with 65 before anything is sent",
    arguments: [
      (["--token", "zz", "--title", "x"], "hexadecimal"), (["--token", "abc", "--title", "x"], "odd"),
      (["--token", "ab", "--payload", #"{"aps":{},}"#], "payload"), (["--token", "ab", "--payload", "[]"], "object"),
      (["--token", "ab", "--title", "x", "--push-type", "background"], "background"),
      (["--token", "ab", "--title", "x", "--expiration", "120"], "relative"),
      (["--token", "ab", "--title", "x", "--collapse-id", String(repeating: "c", count: 65)], "64"),
    ])
  func badInput(options: [String], words: String) async throws {
    let site = try await Site()

    let result = try await site.sendpush.run(["send"] + options, directory: site.directory.path)

    #expect(result.status == 65, "\(result.text)")
    #expect(result.errorOutput.contains(words), "\(result.text)")
    #expect(try site.requests().isEmpty)
  }

  @Test("--dry-run shows the exact request, the provider token masked, and needs no network")
  func dryRun() async throws {
    let site = try await Site()

    let result = try await send(site, "--dry-run", "--host", "127.0.0.1:1", "--badge", "0", "--expiration", "0")

    #expect(result.status == 0, "\(result.text)")
    for part in [
      "POST", "/3/device/\(Site.token(7))", "apns-topic: \(Site.topic)", "apns-push-type: alert", "apns-priority: 10",
      "apns-expiration: 0", #"{"aps":{"alert":{"title":"Hello"},"badge":0}}"#, "45 bytes", "authorization: bearer",
    ] {
      #expect(result.output.contains(part), "\(part) in \(result.text)")
    }
    #expect(!result.text.contains("eyJ"), "no part of a provider token")
    #expect(try site.requests().isEmpty)
  }

  @Test("values keep their types on the way to the device")
  func types() async throws {
    let site = try await Site()

    let result = try await site.sendpush(
      "send", "--token", Site.token(1), "--title", "123456789123456789", "--data", "credits=100", "--data", "code=007",
      "--data", "ok:=true", "--data", #"{"big":18446744073709551615,"price":19.90}"#)

    #expect(result.status == 0, "\(result.text)")
    let body = try #require(try site.requests().first?["body_base64"]?.string)
    let text = String(decoding: try #require(Data(base64Encoded: body)), as: UTF8.self)
    #expect(
      text
        == #"{"aps":{"alert":{"title":"123456789123456789"}},"credits":"100","code":"007","ok":true,"big":18446744073709551615,"price":19.90}"#
    )
  }
}

/// A listener that accepts connections into its backlog and never says a word.
private final class SilentListener {
  let port: UInt16
  private let descriptor: Int32

  init() throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    self.descriptor = descriptor
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let bound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard descriptor >= 0, bound else { throw SupportError("no listener") }
    port = UInt16(bigEndian: address.sin_port)
  }

  deinit { close(descriptor) }
}
