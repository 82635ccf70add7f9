import Foundation
import Glibc
import JSON
import Support
import Testing

@Suite("A login approval from enqueue to receipt", .timeLimit(.minutes(3)))
struct LoginApprovalTests {
  private let hash = "7d3c7e6b4f0a91c1d5f0.K3vXo0bq8W2mZt5nQe7rYu1iOp4aSd6f"

  private func enqueue(_ site: Site) async throws -> String {
    let result = try await site.sendpush(
      "enqueue", "--login-approval", "--email", "janedoe@pusher.com", "--hash", hash, "--json")
    #expect(result.status == 0, "\(result.text)")
    let answer = try #require(try result.json().first)
    #expect(answer["state"]?.string == "queued")
    return try #require(answer["id"]?.string)
  }

  @Test("the subscribers get it, the device that is gone is retired, and the others get nothing")
  func wholeWay() async throws {
    let (phone, old, other) = (Site.token(1), Site.token(2), Site.token(3))
    let site = try await Site(simulatorOptions: ["--device", "\(old)=unregistered"])
    for token in [phone, old] {
      let added = try await site.pushrelay(
        "device", "add", "--token", token, "--interest", "auth-janedoe-at-pushercom")
      #expect(added.status == 0, "\(added.text)")
    }
    _ = try await site.pushrelay("device", "add", "--token", other, "--interest", "news")

    let id = try await site.whileServing { _ in
      let id = try await enqueue(site)
      let status = try await site.sendpush("status", id, "--wait", "--timeout", "30s", "--json")
      #expect(status.status == 1, "one was rejected: \(status.text)")
      return id
    }

    let requests = try site.requests()
    #expect(Set(requests.compactMap { $0["device_token"]?.string }) == [phone, old])
    let request = try #require(requests.first { $0["device_token"]?.string == phone })
    #expect(request["path"]?.string == "/3/device/\(phone)")
    #expect(request["headers"]?["apns-topic"]?.string == Site.topic)
    #expect(request["headers"]?["apns-push-type"]?.string == "alert")
    #expect(request["headers"]?["apns-priority"]?.string == "10")
    #expect(request["headers"]?["apns-collapse-id"]?.string?.hasPrefix("login-") == true)
    let aps = try #require(request["body"]?["aps"])
    #expect(aps["category"]?.string == "LoginActions")
    #expect(aps["payload"]?["hash"]?.string == hash)
    #expect(aps["payload"]?["email"]?.string == "janedoe@pusher.com")
    #expect(aps["alert"]?["title"]?.string == "Login approval")
    #expect(aps["alert"]?["body"]?.string == "Approve the login of janedoe@pusher.com?")
    #expect(aps["sound"]?.string == "default")
    #expect(aps["interruption-level"]?.string == "time-sensitive")

    let receipts = try await site.sendpush("receipts", id, "--json", "--show-tokens").json()
    #expect(receipts.count == 2)
    let gone = try #require(receipts.first { $0["device_token"]?.string == old })
    #expect(gone["outcome"]?.string == "rejected" && gone["status"]?.integer == 410)
    #expect(gone["reason"]?.string == "Unregistered")
    let accepted = try #require(receipts.first { $0["device_token"]?.string == phone })
    #expect(accepted["outcome"]?.string == "accepted")
    #expect(accepted["apns_id"]?.string == request["headers"]?["apns-id"]?.string)
    #expect(accepted["latency_ms"]?.integer != nil && accepted["attempts"]?.integer == 1)
    let retired = try await site.pushrelay("device", "list", "--retired", "--json").json()
    #expect(retired.map { $0["token"]?.string } == [old])
    #expect(try await site.summary()["violations"]?.object?.allSatisfy { $0.value.integer == 0 } == true)
  }

  @Test("with the relay killed between enqueue and send, it still arrives once")
  func killedBefore() async throws {
    let phone = Site.token(1)
    let site = try await Site()
    _ = try await site.pushrelay("device", "add", "--token", phone, "--interest", "auth-janedoe-at-pushercom")
    let first = try await site.serve()
    first.signal(SIGKILL)
    _ = try await first.result()

    let id = try await enqueue(site)
    let status = try await site.whileServing { _ in
      try await site.sendpush("status", id, "--wait", "--timeout", "30s")
    }

    #expect(status.status == 0, "\(status.text)")
    #expect(try site.requests().count == 1)
  }

  @Test("ten sends in a minute beside a running relay present one provider token")
  func oneToken() async throws {
    let site = try await Site()
    _ = try await site.pushrelay("device", "add", "--token", Site.token(1), "--interest", "auth-janedoe-at-pushercom")
    try await site.whileServing { _ in
      let id = try await enqueue(site)
      for number in 2...11 {
        let sent = try await site.sendpush("send", "--token", Site.token(number), "--title", "Hello")
        #expect(sent.status == 0, "\(sent.text)")
      }
      _ = try await site.sendpush("status", id, "--wait", "--timeout", "30s")
    }

    let tokens = Set(try site.requests().compactMap { $0["headers"]?["authorization"]?.string })
    #expect(tokens.count == 1)
    let summary = try await site.summary()
    #expect(summary.count("provider_tokens") == 1)
    #expect(summary.count("accepted") == 11)
  }
}
