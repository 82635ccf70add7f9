import Glibc
import JSON
import Operations
import Support
import Testing

/// Who goes on with the work of a relay that dies, and when.
@Suite("A dead relay's work", .serialized, .timeLimit(.minutes(3)))
struct TakeoverTests {
  /// What is left of a lease at the least, since it is renewed before: with leases alone nobody goes on earlier.
  private static let leaseAtLeast = Duration.seconds(9)

  @Test("goes on with the other relay long before its lease ends", arguments: StoreKind.present)
  func otherRelay(_ kind: StoreKind) async throws {
    try await takeOver(kind, startsBefore: true)
  }

  @Test("goes on with a relay that is started after it died, long before its lease ends", arguments: StoreKind.present)
  func startedAgain(_ kind: StoreKind) async throws {
    try await takeOver(kind, startsBefore: false)
  }

  private func takeOver(_ kind: StoreKind, startsBefore: Bool) async throws {
    // Long enough for the relay to die before the first answer.
    try await kind.withSite(simulatorOptions: ["--no-checks", "--delay", "4s"]) { site, store in
      let first = try await site.serve()
      try await site.importDevices((1...20).map(Site.token), interest: "news")
      let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello").lines[0]
      try await eventually("APNs has the first push") { try site.requests().count > 0 }
      let owners = try await store.query("SELECT owner FROM task WHERE state=1")
      #expect(owners.count == 1)
      let early = startsBefore ? try await site.serve() : nil
      // It sees the live one, and leaves it its work.
      if startsBefore { #expect(try await store.query("SELECT owner FROM task WHERE state=1") == owners) }

      first.signal(SIGKILL)
      let died = SystemClocks().monotonicTime()
      _ = try await first.result()
      let second = if let early { early } else { try await site.serve() }
      try await eventually("the other has the work") {
        let now = try await store.query("SELECT owner FROM task WHERE state=1")
        return now.count == 1 && now != owners
      }
      #expect(SystemClocks().monotonicTime().since(died) < Self.leaseAtLeast)

      let status = try await site.sendpush("status", id, "--json", "--wait", "--timeout", "60s").json().first
      #expect(status?["counts"]?.count("accepted") == 20, "\(String(describing: status))")
      second.signal(SIGTERM)
      #expect(try await second.result().status == 0)
      // What the dead one had out is the same push again.
      let requests = try site.requests()
      let ids = Set(requests.compactMap { $0["headers"]?["apns-id"]?.string })
      #expect(ids.count == 20 && requests.count > 20)
    }
  }
}
