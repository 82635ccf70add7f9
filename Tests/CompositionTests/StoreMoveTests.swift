import Composition
import Foundation
import Operations
import PushCore
import StorePostgreSQL
import StoreSQLite
import Support
import Testing

/// A store in SQLite becomes the same store in PostgreSQL.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(3)))
struct StoreMoveTests {
  @Test("Devices, apps, keys, open work and receipts arrive as they were, and the work goes on where it stood")
  func everything() async throws {
    try await withMove { filled, database in
      let old = try await SQLiteStore.open(filled.path)
      let expected = try await filled.view(of: old)
      await old.close()
      _ = try StoreMove.run(from: filled.path, to: database, clocks: SystemClocks())

      let new = try await PostgreSQLStore.open(database)
      #expect(try await filled.view(of: new) == expected)
      // Every task goes on with what is left of it: nobody gets a second push.
      let tasks = try await filled.claim(new, .bulk)
      let range = try #require(tasks.first { $0.list == nil })
      #expect(range.cursor == filled.sent.last && range.settled == 3 && range.epoch == 2)
      let walked = try await new.read([
        .walk(
          WalkRequest(
            source: .interest(try #require(try await new.notification(range.notificationID)).target.interests[0]),
            after: range.cursor, hi: range.hi, sequenceLimit: range.sequenceLimit,
            credentials: try await new.credentials().map(\.id), limit: 5000))
      ])[0].ids
      #expect(Set(walked).isDisjoint(with: filled.sent) && walked.count + filled.sent.count == filled.devices)
      #expect(tasks.contains { $0.list == [filled.sent[0]] && $0.attempt == 1 && $0.tries == 1 })
      // The urgent one was leased by a relay that is dead.
      let urgent = try await filled.claim(new, .urgent)
      #expect(urgent.map(\.epoch) == [2])
      #expect(try await new.settledDevices(of: urgent[0], rowReceipts: true) == [filled.settledAhead])
      // What was enqueued once stays enqueued once, and new ids follow the old ones.
      #expect(try await new.publish(filled.keyed) == .repeated(filled.keyedID))
      #expect(try await filled.register(new, 1000, user: nil) > DeviceID(0))
      #expect(try await new.reasonID(for: "Invented") == filled.reason)
      #expect(try await new.reasonID(for: "Another").rawValue == filled.reason.rawValue + 1)
      await new.close()
    }
  }

  @Test("A webhook tells from the new store what it had not told from the old one")
  func webhooks() async throws {
    try await withMove { filled, database in
      let old = try await SQLiteStore.open(filled.path)
      let webhook = Webhook(url: SecretText("https://jane:secret@example.com/"), requestBody: Array("{ }".utf8))
      for publishID in ["pubid-1", "pubid-2"] {
        let ids = try await old.publish(
          [filled.publication(.normal)], publishID: publishID, instance: "i", webhook: webhook)
        for id in ids { _ = try await old.cancel(id) }
      }
      let started = try await old.claimWebhooks(lease: .milliseconds(1), limit: 9)
      let first = try #require(started.first { $0.publishID == "pubid-1" })
      #expect(try await old.settle(first, as: .ended))
      let second = try #require(started.first { $0.publishID == "pubid-2" })
      #expect(try await old.settle(second, as: .again(after: .milliseconds(1))))
      await old.close()
      _ = try StoreMove.run(from: filled.path, to: database, clocks: SystemClocks())

      let new = try await PostgreSQLStore.open(database)
      let messages = try await new.claimWebhooks(lease: .seconds(60), limit: 9).sorted { $0.publishID < $1.publishID }
      #expect(messages.map(\.publishID) == ["pubid-1", "pubid-2"] && messages.map(\.tries) == [0, 1])
      #expect(messages.map { $0.content == .started } == [false, true])
      #expect(messages.allSatisfy { $0.webhook == webhook })
      await new.close()
    }
  }

  @Test("An interrupted move goes on where it stood; until it ends neither store is served")
  func interrupted() async throws {
    try await withMove { filled, database in
      let server = try await PostgreSQLServer.running()
      let uri = database.uri.reveal()
      let expected = try await {
        let old = try await SQLiteStore.open(filled.path)
        let view = try await filled.view(of: old)
        await old.close()
        return view
      }()
      _ = try PostgreSQLStore.migrate(database)
      for table in ["task", "notification", "subscription"] {
        try await server.sql(
          """
          SET search_path=pushrelay;
          CREATE OR REPLACE FUNCTION pushrelay.stop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'stop'; END $$;
          CREATE TRIGGER stop BEFORE INSERT ON \(table) FOR EACH ROW EXECUTE FUNCTION pushrelay.stop();
          """, at: uri)
      }
      for table in ["subscription", "notification", "task"] {
        #expect(throws: StoreError.self) {
          _ = try StoreMove.run(from: filled.path, to: database, clocks: SystemClocks())
        }
        for open in [
          { _ = try await SQLiteStore.open(filled.path) }, { _ = try await PostgreSQLStore.open(database) },
        ] as [() async throws -> Void] {
          let error = await #expect(throws: StoreError.self) { try await open() }
          #expect(error?.code == .unusable && error?.description.contains("is not finished") == true)
        }
        try await server.sql("DROP TRIGGER stop ON pushrelay.\(table)", at: uri)
      }
      let first = try StoreMove.run(from: filled.path, to: database, clocks: SystemClocks())
      let counts = try await server.sql("SELECT count(*) FROM pushrelay.device", at: uri)
      #expect(counts == [first.first { $0.table == "device" }.map { String($0.count) } ?? ""])
      // Interrupted after the last row, before the old store was told.
      _ = try await BuiltProgram(path: "/usr/bin/sqlite3").run([filled.path, "UPDATE moved SET finished_at=NULL"])
      let again = try StoreMove.run(from: filled.path, to: database, clocks: SystemClocks())
      #expect(again.map(\.count) == first.map(\.count))
      // Once more changes nothing and says where the store is.
      let error = #expect(throws: StoreError.self) {
        _ = try StoreMove.run(from: filled.path, to: database, clocks: SystemClocks())
      }
      #expect(error?.description.contains("was moved to postgresql://") == true)

      let new = try await PostgreSQLStore.open(database)
      #expect(try await filled.view(of: new) == expected)
      await new.close()
    }
  }

  @Test("A store that was moved refuses every write, also of who had it open, and says where it is; reading it goes on")
  func moved() async throws {
    try await withMove { filled, database in
      let open = try await SQLiteStore.open(filled.path)
      _ = try StoreMove.run(from: filled.path, to: database, clocks: SystemClocks())
      let writes: [() async throws -> Void] = [
        { _ = try await open.publish(filled.publication(.bulk)) },
        { _ = try await filled.register(open, 77, user: nil) },
        { _ = try await filled.claim(open, .bulk) }, { _ = try await open.cancel(filled.keyedID) },
      ]
      for write in writes {
        let error = await #expect(throws: StoreError.self) { try await write() }
        #expect(error?.code == .unusable && error?.underlying.contains("was moved to postgresql://") == true)
      }
      await open.close()

      var options = SQLiteStore.Options()
      let error = await #expect(throws: StoreError.self) { _ = try await SQLiteStore.open(filled.path) }
      #expect(error?.code == .unusable && error?.underlying.contains("was moved to postgresql://") == true)
      options.creates = false
      let reader = try await SQLiteStore.open(filled.path, options: options)
      #expect(try await reader.status(filled.keyedID) != nil)
      await reader.close()

      // The way back.
      _ = try await BuiltProgram(path: "/usr/bin/sqlite3").run([filled.path, "DELETE FROM moved"])
      let again = try await SQLiteStore.open(filled.path)
      _ = try await again.publish(filled.publication(.bulk))
      await again.close()
    }
  }

  @Test("A store that a relay works on stays, and is served on; so does one whose new place is taken")
  func refused() async throws {
    try await withMove { filled, database in
      let store = try await SQLiteStore.open(filled.path)
      _ = try await filled.claim(store, .bulk)
      let leased = #expect(throws: StoreError.self) {
        _ = try StoreMove.run(from: filled.path, to: database, clocks: SystemClocks())
      }
      #expect(leased?.code == .temporary && leased?.remedy.contains("Stop every pushrelay serve") == true)
      _ = try await store.publish(filled.publication(.bulk))
      // Also when nothing of it is leased any more: who serves it lives.
      let clocks = DrivenClocks()
      clocks.advance(by: .seconds(3600) + clocks.wallTime().distance(to: SystemClocks().wallTime()))
      let served = #expect(throws: StoreError.self) {
        _ = try StoreMove.run(from: filled.path, to: database, clocks: clocks)
      }
      #expect(served?.code == .temporary && served?.underlying == "a relay serves it")
      await store.close()

      let other = try await PostgreSQLStore.open(database)
      _ = try await other.bind([Filled.app])
      await other.close()
      let taken = #expect(throws: StoreError.self) {
        _ = try StoreMove.run(from: filled.path, to: database, clocks: clocks)
      }
      #expect(taken?.underlying.contains("there is a store in that database already") == true)
      let again = try await SQLiteStore.open(filled.path)
      _ = try await again.publish(filled.publication(.bulk))
      await again.close()
    }
  }

  private func withMove(_ body: (Filled, PostgreSQLLocation) async throws -> Void) async throws {
    let server = try await PostgreSQLServer.running()
    try await withTemporaryDirectory { directory in
      let filled = try await Filled(directory.path(of: "old.db"))
      try await server.withDatabase { try await body(filled, PostgreSQLLocation($0)) }
    }
  }
}

extension UnixMilliseconds {
  fileprivate func distance(to other: UnixMilliseconds) -> Duration { .milliseconds(other.value - value) }
}
