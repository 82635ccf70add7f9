import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// What happens when a database is opened.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(2)))
struct OpeningTests {
  private func withEmptyDatabase(_ body: (PostgreSQLLocation, PostgreSQLServer) async throws -> Void) async throws {
    let server = try await PostgreSQLServer.running()
    try await server.withDatabase { try await body(PostgreSQLLocation($0), server) }
  }

  private func connection(_ location: PostgreSQLLocation) throws -> Connection {
    try Connection(location, patience: .seconds(10), answerTime: .seconds(20))
  }

  @Test("A reader of a store that is not there is told so, and nothing is made")
  func createsNothing() async throws {
    try await withEmptyDatabase { location, _ in
      var options = PostgreSQLStore.Options()
      options.creates = false
      let error = try await #require(throws: StoreError.self) {
        _ = try await PostgreSQLStore.open(location, options: options)
      }
      #expect(error.code == .unavailable && error.remedy.contains("pushrelay migrate"))
      #expect(try connection(location).execute("SELECT to_regnamespace('pushrelay') IS NULL") == "t")

      await (try await PostgreSQLStore.open(location)).close()
      await (try await PostgreSQLStore.open(location, options: options)).close()
    }
  }

  @Test("Of many that open a new database at once, one migrates and all can work")
  func concurrentOpening() async throws {
    try await withEmptyDatabase { location, _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<6 {
          group.addTask {
            let store = try await PostgreSQLStore.open(location)
            _ = try await store.bind([.example])
            await store.close()
          }
        }
        try await group.waitForAll()
      }
      let versions = try PostgreSQLStore.migrate(location)
      #expect(versions.from == Migrations.all.count && versions.to == Migrations.all.count)
    }
  }

  @Test("An upgrade runs what is missing and keeps the data; one that fails leaves everything as it was")
  func upgrades() async throws {
    try await withEmptyDatabase { location, _ in
      let store = try await PostgreSQLStore.open(location)
      _ = try await store.bind([.example])
      await store.close()
      let next = Migrations.all + ["CREATE TABLE later AS SELECT app_id FROM app"]
      let broken = next + ["CREATE TABLE last(a int); INSERT INTO nowhere VALUES(1)"]

      let connection = try connection(location)
      let versions = try Migrations.apply(next, to: connection)
      #expect(versions.from == Migrations.all.count && versions.to == next.count)
      #expect(throws: StoreError.self) { _ = try Migrations.apply(broken, to: connection) }
      #expect(try Migrations.apply(next, to: connection).from == next.count)
      #expect(try connection.execute("SELECT count(*) FROM pushrelay.later") == "1")
      #expect(try connection.execute("SELECT to_regclass('pushrelay.last') IS NULL") == "t")
    }
  }

  @Test("A schema of the first version keeps its retired devices and feeds them")
  func retiredDevices() async throws {
    try await withEmptyDatabase { location, _ in
      let connection = try connection(location)
      #expect(try Migrations.apply([Migrations.migration001], to: connection).to == 1)
      try connection.execute(
        """
        SET search_path=pushrelay; INSERT INTO app(topic,created_at) VALUES('com.example.old',now());
        INSERT INTO credential(app_id,environment,signer_seen_at) SELECT app_id, 0, now() FROM app;
        INSERT INTO device(device_id,credential_id,token,registered_at,retired_at)
          SELECT i, credential_id, 'a'||i, now(), CASE WHEN i=7 THEN now() END FROM credential, generate_series(7,8) i
        """)

      let store = try await PostgreSQLStore.open(location)
      let place = RetirementPlace(at: UnixMilliseconds(0), device: DeviceID(0))
      #expect(try await store.retiredDevices(topics: nil, after: place, limit: 10).map(\.token.text) == ["a7"])
      #expect(try await store.apiKeys().isEmpty)
      await store.close()
    }
  }

  @Test("A schema of the sixth version keeps its open notifications, which have no values of recipients")
  func recipients() async throws {
    try await withEmptyDatabase { location, _ in
      let connection = try connection(location)
      #expect(try Migrations.apply(Array(Migrations.all[..<6]), to: connection).to == 6)
      try connection.execute(
        """
        SET search_path=pushrelay; INSERT INTO app(topic,created_at) VALUES('com.example.old',now());
        INSERT INTO notification(notification_id,app_id,lane,created_at,not_before,expires_at,row_receipts,target,headers,payload)
          SELECT 7, app_id, 1, now(), now(), now(), true, '\\x0100000000', '{"push_type":"alert","priority":10}', '{"{{a}}":1}' FROM app
        """)

      let store = try await PostgreSQLStore.open(location)
      let notification = try #require(try await store.notification(NotificationID(7)))
      #expect(notification.substitutions == nil && notification.payload == Array(#"{"{{a}}":1}"#.utf8))
      await store.close()
    }
  }

  @Test("A schema from before webhooks keeps its publishes and takes webhooks")
  func webhooks() async throws {
    try await withEmptyDatabase { location, _ in
      let connection = try connection(location)
      let before = Array(Migrations.all.prefix { $0 != Migrations.migration008 })
      #expect(try Migrations.apply(before, to: connection).to == before.count)
      try connection.execute(
        """
        SET search_path=pushrelay; INSERT INTO app(topic,created_at) VALUES('com.example.old',now());
        INSERT INTO beams_publish(publish_id,notification_id,instance_id) VALUES('p-1',7,'i')
        """)

      let store = try await PostgreSQLStore.open(location)
      #expect(try await store.claimWebhooks(lease: .seconds(60), limit: 9).isEmpty)
      let publication = Publication(
        topic: "com.example.old", target: Target(interests: ["a"]), payload: Array("{}".utf8),
        headers: PushHeaders(pushType: .alert, priority: .low), lane: .normal)
      _ = try await store.publish(
        [publication], publishID: "p-2", instance: "i",
        webhook: Webhook(url: SecretText("https://example.com"), requestBody: [1]))
      #expect(try await store.claimWebhooks(lease: .seconds(60), limit: 9).map(\.publishID) == ["p-2"])
      #expect(try connection.execute("SELECT count(*) FROM pushrelay.beams_publish") == "2")
      await store.close()
    }
  }

  @Test("A schema of a newer version is refused and left alone")
  func newer() async throws {
    try await withEmptyDatabase { location, _ in
      _ = try PostgreSQLStore.migrate(location)
      try connection(location).execute("UPDATE pushrelay.meta SET schema_version=99")
      let error = try await #require(throws: StoreError.self) { _ = try await PostgreSQLStore.open(location) }
      #expect(error.code == .unusable && error.description.contains("version 99"))
      #expect(try connection(location).execute("SELECT schema_version FROM pushrelay.meta") == "99")
    }
  }

  @Test("A role that may make no schema is told so; in a schema made for it, it works")
  func roles() async throws {
    try await withEmptyDatabase { location, server in
      let role = "relay\(Int.random(in: 0..<1_000_000_000))"
      let owner = try connection(location)
      try owner.execute("CREATE ROLE \(role) LOGIN")
      let uri = location.uri.reveal().replacing("pushrelay@", with: "\(role)@")
      let error = try await #require(throws: StoreError.self) {
        _ = try await PostgreSQLStore.open(PostgreSQLLocation(uri))
      }
      #expect(error.code == .notAllowed && error.remedy.contains("pushrelay migrate"))

      try owner.execute("CREATE SCHEMA pushrelay AUTHORIZATION \(role)")
      let store = try await PostgreSQLStore.open(PostgreSQLLocation(uri))
      #expect(try await store.bind([.example]).count == 1)
      #expect(try await store.removeOld(payloadsAfter: .zero, receiptsAfter: .seconds(60)) == false)
      await store.close()
      try owner.execute("DROP SCHEMA pushrelay CASCADE; DROP ROLE \(role)")
    }
  }

  @Test("The time of everything is the database's")
  func databaseClock() async throws {
    try await withEmptyDatabase { location, _ in
      let store = try await PostgreSQLStore.open(location)
      let before = try connection(location).execute("SELECT (extract(epoch FROM clock_timestamp())*1000)::bigint")
      let time = try await store.write { (transaction) throws(StoreError) in transaction.now }
      let after = try connection(location).execute("SELECT (extract(epoch FROM clock_timestamp())*1000)::bigint")
      #expect(time.value >= before.flatMap { Int64($0) } ?? .max && time.value <= after.flatMap { Int64($0) } ?? 0)
      await store.close()
    }
  }

  @Test("The next two days get partitions; a day that is over is dropped whole, an open one is not")
  func days() async throws {
    try await withEmptyDatabase { location, _ in
      let clocks = DrivenClocks()
      let store = try await PostgreSQLStore.open(location, clocks: clocks)
      _ = try await store.bind([.example])
      func removeOld() async throws {
        store.nextDayCare.withLock { $0 = MonotonicTime(nanoseconds: 0) }
        while try await store.removeOld(payloadsAfter: .zero, receiptsAfter: .seconds(86_400)) {}
      }
      func publish() async throws -> NotificationID? {
        let result = try await store.publish(
          Publication(
            topic: AppBinding.example.topic, target: Target(tokens: [DeviceToken(stored: "ab")]), payload: [],
            headers: PushHeaders(pushType: .alert, priority: .low), lane: .normal, deadline: .after(.seconds(900_000))))
        if case .stored(let id, _) = result { return id }
        return nil
      }
      func partitions() throws -> Int {
        let count = try connection(location).execute(
          "SELECT count(*) FROM pg_class WHERE relkind='r' AND relname ~ '^(notification|receipt).*_[0-9]{8}$'")
        return count.flatMap { Int($0) } ?? 0
      }

      try await removeOld()
      #expect(try partitions() == 10)
      clocks.advance(by: .seconds(86_400))
      try await removeOld()
      #expect(try partitions() == 15)
      let first = try #require(try await publish())
      clocks.advance(by: .seconds(86_400))
      let second = try #require(try await publish())
      #expect(try connection(location).execute("SELECT count(*) FROM pushrelay.notification_default") == "0")

      #expect(try await store.cancel(second) == true)
      clocks.advance(by: .seconds(86_400 * 3))
      try await removeOld()
      // The first is still open, so that its day stays; the second's day is over.
      #expect(try await store.status(first) != nil)
      #expect(try await store.status(second) == nil)
      #expect(try await store.cancel(first) == true)
      clocks.advance(by: .seconds(86_401))
      try await removeOld()
      #expect(try await store.status(first) == nil)
      await store.close()
    }
  }
}
