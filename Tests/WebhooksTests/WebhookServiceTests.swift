import JSON
import Operations
import PushCore
import StoreSQLite
import Support
import Testing

@testable import Webhooks

/// The service with a real store, a real receiver, and clocks that the test drives.
@Suite(.timeLimit(.minutes(1))) struct WebhookServiceTests {
  private static let topic = "com.example.app"

  /// A running service and what is around it.
  private struct Bench {
    let store: SQLiteStore
    let clocks: DrivenClocks
    let server: HookServer
    let events: Watched<[WebhookEvent]>
    let service: WebhookService
    let hasEnded = Watched(false)

    func publish(_ publishID: String, path: String) async throws -> NotificationID {
      let publication = Publication(
        topic: topic, target: Target(tokens: [DeviceToken(stored: "ab")]),
        payload: Array(#"{"aps":{"alert":"Hi"}}"#.utf8),
        headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .normal)
      let webhook = Webhook(
        url: SecretText("http://jane:secret@127.0.0.1:\(server.port)/\(path)"), requestBody: Array(#"{"x": 1.0}"#.utf8))
      return try await store.publish([publication], publishID: publishID, instance: "i", webhook: webhook)[0]
    }

    /// Lets the service look at the store once the poll's time has come.
    func look(after duration: Duration = .seconds(1)) async throws {
      try await clocks.waitForSleepers()
      clocks.advance(by: duration)
    }

    /// The events as soon as there are so many.
    func events(_ count: Int) async throws -> [WebhookEvent] {
      try await events.wait(within: .seconds(20), "\(count) events") { $0.count >= count }
    }
  }

  private func withBench(
    deadline: Duration = .seconds(20), _ body: (Bench) async throws -> Void
  ) async throws {
    try await withTemporaryDirectory { directory in
      let clocks = DrivenClocks()
      let store = try await SQLiteStore.open(directory.path(of: "relay.db"), clocks: clocks)
      _ = try await store.bind([
        AppBinding(topic: Self.topic, environment: .production, teamID: "TEAM123456", keyID: "KEY1234567")
      ])
      let events = Watched<[WebhookEvent]>([])
      var options = Courier.Options()
      options.deadline = deadline
      let policy = WebhookPolicy(allowedNetworks: [IPAddressRange("127.0.0.1")].compactMap(\.self), allowsHTTP: true)
      let service = WebhookService(store: store, policy: policy, options: options, clocks: clocks) { event in
        events.update { $0.append(event) }
      }
      let bench = Bench(
        store: store, clocks: clocks, server: try await HookServer(), events: events, service: service)
      async let running: Void = {
        await service.run()
        bench.hasEnded.update { $0 = true }
      }()
      defer { service.stop() }
      try await body(bench)
      service.stop()
      await running
      await store.close()
    }
  }

  @Test("the start is told, and the end after it, though both are due at once")
  func startsBeforeItEnds() async throws {
    try await withBench { bench in
      let id = try await bench.publish("pubid-1", path: "200")
      _ = try await bench.store.cancel(id)
      try await bench.look()
      _ = try await bench.events(1)
      try await bench.look()
      _ = try await bench.events(2)

      let requests = try await bench.server.requests(2)
      #expect(
        requests.map(\.body) == [
          #"{"publishId":"pubid-1","status":"STARTED","requestBody":{"x": 1.0}}"#,
          #"{"publishId":"pubid-1","status":"FINISHED","requestBody":{"x": 1.0},"results":{"apns":{"numSuccessfulPublishes":0,"numFailedPublishes":1,"failed":true}}}"#,
        ])
      let delivered = WebhookEvent.delivered(publishID: "pubid-1", host: "127.0.0.1")
      #expect(bench.events.current == [delivered, delivered])
    }
  }

  @Test("what answers 500 hears it again ten seconds later, and not before")
  func retry() async throws {
    try await withBench { bench in
      _ = try await bench.publish("pubid-1", path: "500,200")
      try await bench.look()
      #expect(
        try await bench.events(1) == [.failed(publishID: "pubid-1", host: "127.0.0.1", reason: "it answered 500")])
      try await bench.look(after: .seconds(8))
      _ = try await bench.publish("pubid-2", path: "200")
      try await bench.look()
      let delivered = try await bench.events(2)[1]
      #expect(delivered == .delivered(publishID: "pubid-2", host: "127.0.0.1"))
      #expect(try await bench.server.requests(2).count { $0.path == "/500,200" } == 1)
      try await bench.look()

      #expect(try await bench.events(3)[2] == .delivered(publishID: "pubid-1", host: "127.0.0.1"))
      let bodies = try await bench.server.requests(3).filter { $0.path == "/500,200" }.map(\.body)
      #expect(bodies.count == 2 && bodies[0] == bodies[1])
    }
  }

  @Test("a message is given up after its fifth try, and the one behind it is told")
  func givesUp() async throws {
    try await withBench { bench in
      let id = try await bench.publish("pubid-1", path: "302,500,404,500,503,200")
      _ = try await bench.store.cancel(id)
      for (turn, delay) in [1, 10, 30, 120, 300, 1].enumerated() {
        try await bench.look(after: .seconds(delay))
        _ = try await bench.events(turn + 1)
      }

      let events = bench.events.current
      #expect(events[0] == .failed(publishID: "pubid-1", host: "127.0.0.1", reason: "it answered 302"))
      #expect(events[4] == .givenUp(publishID: "pubid-1", host: "127.0.0.1", reason: "it answered 503"))
      #expect(events[5] == .delivered(publishID: "pubid-1", host: "127.0.0.1"))
      let statuses = try await bench.server.requests(6).map {
        try JSONValue(parsing: Array($0.body.utf8))["status"]?.string
      }
      #expect(statuses == Array(repeating: "STARTED", count: 5) + ["FINISHED"])
    }
  }

  @Test("receivers that say nothing do not hold up others, also when there are more than can be asked at once")
  func silentReceivers() async throws {
    try await withBench(deadline: .seconds(2)) { bench in
      for number in 0..<40 { _ = try await bench.publish("pubid-silent-\(number)", path: "silence+\(number)") }
      bench.clocks.advance(by: .milliseconds(1))
      _ = try await bench.publish("pubid-good", path: "200")
      try await bench.look()

      let events = try await bench.events(41)
      #expect(events.contains(.delivered(publishID: "pubid-good", host: "127.0.0.1")))
      #expect(
        events.count { if case .failed(_, _, "Timeout was reached") = $0 { true } else { false } } == 40)
    }
  }

  @Test("a stop waits for the message that is on its way, and takes no other")
  func stops() async throws {
    try await withBench(deadline: .seconds(2)) { bench in
      _ = try await bench.publish("pubid-1", path: "silence")
      try await bench.look()
      _ = try await bench.server.requests(1)
      _ = try await bench.publish("pubid-2", path: "200")
      bench.service.stop()
      bench.clocks.advance(by: .seconds(1))
      _ = try await bench.hasEnded.wait("the end of the service") { $0 }
      bench.clocks.advance(by: .seconds(10))

      #expect(
        bench.events.current == [.failed(publishID: "pubid-1", host: "127.0.0.1", reason: "Timeout was reached")])
      #expect(try await bench.store.claimWebhooks(lease: .seconds(60), limit: 9).map(\.tries).sorted() == [0, 1])
    }
  }

  @Test("the times of the tries are those of Beams")
  func delays() {
    #expect((1...6).map(WebhookRetries.delay) == [.seconds(10), .seconds(30), .seconds(120), .seconds(300), nil, nil])
  }
}
