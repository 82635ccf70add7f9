import Foundation
import JSON
import Support
import Testing

/// The programs with a PostgreSQL store.
@Suite(
  "PostgreSQL", .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"),
  .timeLimit(.minutes(4)))
struct PostgreSQLTests {
  @Test("From enqueue to receipts, the store is the database that the URI names")
  func fromEnqueueToReceipts() async throws {
    try await StoreKind.postgresql.withSite { site, _ in
      try await site.importDevices((1...3).map { Site.token($0) }, interest: "news")
      let lines = try await site.whileServing { _ in
        let sent = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello", "--wait", "--json")
        #expect(sent.status == 0, "\(sent.text)")
        let id = try sent.json().first?["id"]?.string ?? ""
        return try await site.sendpush("receipts", id, "--json", "--show-tokens").json()
      }

      #expect(Set(lines.compactMap { $0["device_token"]?.string }) == Set((1...3).map { Site.token($0) }))
      #expect(lines.allSatisfy { $0["outcome"]?.string == "accepted" })
      #expect(try site.requests().count == 3)
      #expect(!FileManager.default.fileExists(atPath: site.directory.path(of: "relay.db")))
    }
  }

  @Test("Two relays share one notification: each device gets it once")
  func twoRelays() async throws {
    try await StoreKind.postgresql.withSite(simulatorOptions: ["--delay", "5ms"]) { site, store in
      let count = 6000
      try await site.importDevices((1...count).map { Site.token($0) }, interest: "news")
      // By the hint the audience is cut into ten ranges, and a relay takes four at a time.
      try await store.query("UPDATE interest SET approx_size=250000")
      let other = try await site.serve()
      let status = try await site.whileServing { _ in
        let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello", "--lane", "bulk").lines[0]
        return try await site.sendpush("status", id, "--wait", "--timeout", "60s", "--json").json()[0]
      }
      other.signal(SIGTERM)
      #expect(try await other.result().status == 0)

      #expect(status["state"]?.string == "done" && status["complete"]?.bool == true)
      #expect(status["counts"]?.count("accepted") == Int64(count))
      let summary = try await site.summary()
      #expect(summary.count("distinct_devices") == Int64(count) && summary.count("requests") == Int64(count))
      // The connections of one relay are two at most for one lane.
      #expect(summary.count("connections") > 2, "only one relay sent")
    }
  }

  @Test("A database without a store is named with what to do; migrate makes it, once")
  func migrate() async throws {
    try await StoreKind.postgresql.withSite { site, _ in
      let early = try await site.sendpush("status", "1")
      #expect(early.status == 69 && early.errorOutput.contains("pushrelay migrate"), "\(early.text)")
      let check = try await site.pushrelay("check")
      #expect(check.status == 0 && check.output.contains("not there yet: it will be created"), "\(check.text)")

      let first = try await site.pushrelay("migrate")
      #expect(first.status == 0 && first.output.contains("schema 0 →"), "\(first.text)")
      let second = try await site.pushrelay("migrate")
      #expect(second.status == 0 && second.output.contains("already"), "\(second.text)")
      #expect(try await site.pushrelay("check").status == 0)
    }
  }

  @Test("Where the relay's role may make no roles, check says what an administrator runs")
  func missingRoles() async throws {
    try await PostgreSQLServer.with { server in
      try await server.sql("CREATE ROLE relay LOGIN")
      try await server.sql("CREATE DATABASE relay OWNER relay")
      let uri = server.uri("relay").replacing("pushrelay@", with: "relay@")
      let site = try await Site()
      try site.writeConfiguration(store: uri)
      #expect(try await site.pushrelay("migrate").status == 0)

      let check = try await site.pushrelay("check")
      #expect(check.status == 0, "\(check.text)")
      let advice = try #require(check.output.components(separatedBy: "schema's owner: ").dropFirst().first)
      for statement in advice.prefix(while: { $0 != "\n" }).components(separatedBy: "; ") {
        try await server.sql(statement, at: statement.hasPrefix("CREATE") ? server.uri("relay") : uri)
      }
      try await server.sql("CREATE ROLE shop LOGIN IN ROLE pushrelay_enqueue, pushrelay_read")
      let shop = server.uri("relay").replacing("pushrelay@", with: "shop@")
      let read = "SELECT count(*) FROM pushrelay.receipt_rows WHERE notification_id=1"
      #expect(try await server.sql(read, at: shop) == ["0"])
      #expect(try await !site.pushrelay("check").output.contains("CREATE ROLE"))
    }
  }

  @Test("A backend enqueues in its own transaction: rolled back it never was, committed it is delivered")
  func outbox() async throws {
    try await StoreKind.postgresql.withSite { site, store in
      let uri = store.location
      let server = try await PostgreSQLServer.running()
      try await site.importDevices([Site.token(1), Site.token(2)], interest: "orders")
      let role = "shop\(Int.random(in: 0..<1_000_000_000))"
      try await server.sql(
        """
        CREATE ROLE \(role) LOGIN IN ROLE pushrelay_enqueue;
        CREATE TABLE public.orders(state text, notification text);
        GRANT INSERT, SELECT ON public.orders TO \(role);
        """, at: uri)
      let shop = uri.replacingOccurrences(of: "pushrelay@", with: "\(role)@")
      func order(_ state: String, end: String) async throws {
        try await server.sql(
          """
          BEGIN;
          INSERT INTO public.orders SELECT '\(state)', pushrelay.enqueue('\(Site.topic)',
            json_build_object('aps', json_build_object('alert', 'Order \(state)')), interests => '{orders}');
          \(end);
          """, at: shop)
      }

      let status = try await site.whileServing { _ in
        try await order("lost", end: "ROLLBACK")
        try await order("sent", end: "COMMIT")
        try await server.sql("SELECT pushrelay.wake()", at: shop)
        let id = try await server.sql("SELECT notification FROM public.orders", at: shop)
        #expect(id.count == 1)
        return try await site.sendpush("status", id[0], "--wait", "--json").json()[0]
      }

      #expect(status["state"]?.string == "done" && status["counts"]?.count("accepted") == 2)
      let bodies = try site.requests().compactMap { $0["body"]?["aps"]?["alert"]?.string }
      #expect(bodies == ["Order sent", "Order sent"])
    }
  }

  @Test("A store moves from SQLite: what was enqueued there is sent once from here, and the old one sends no more")
  func move() async throws {
    try await StoreKind.postgresql.withSite { site, store in
      let uri = store.location
      try site.writeConfiguration()
      try await site.importDevices((1...3).map { Site.token($0) }, interest: "news")
      let id = try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello").lines[0]
      let wrong = try await site.pushrelay("migrate", "--from", uri)
      #expect(wrong.status == 78 && wrong.errorOutput.contains("moves from sqlite:PATH"), "\(wrong.text)")
      try site.writeConfiguration(store: uri)
      let old = "sqlite:\(site.directory.path(of: "relay.db"))"

      let moved = try await site.pushrelay("migrate", "--from", old, "--json")
      #expect(moved.status == 0, "\(moved.text)")
      #expect(try moved.json()[0].count("device") == 3)
      for command in [
        try await site.pushrelay("serve", "--store", old), try await site.pushrelay("check", "--store", old),
        try await site.sendpush("enqueue", "--interest", "news", "--title", "Lost", "--store", old),
        try await site.pushrelay("migrate", "--from", old),
      ] {
        #expect(command.status == 78 && command.text.contains("was moved to postgresql://"), "\(command.text)")
      }
      let status = try await site.whileServing { _ in
        try await site.sendpush("status", id, "--wait", "--json").json()[0]
      }
      #expect(status["state"]?.string == "done" && status["counts"]?.count("accepted") == 3)
      #expect(try site.requests().count == 3)
      #expect(try await site.sendpush("status", id, "--store", old).status == 0)
    }
  }

  @Test("A server that cannot be used is named with what to do, and the password never")
  func unusable() async throws {
    let site = try await Site()
    let server = try await PostgreSQLServer.running()
    let missing = server.uri("nowhere").replacingOccurrences(of: "pushrelay@", with: "pushrelay:secret@")
    let away = "postgresql://relay:secret@/db?host=\(site.directory.path)"

    for (uri, status, words) in [
      (away, 69, "Look whether the server runs"), (missing, 69, "createdb"),
      ("postgresql://relay:secret@h/db?no_such_name=1", 78, "cannot read this URI"),
    ] {
      for result in [
        try await site.sendpush("status", "1", "--store", uri),
        try await site.pushrelay("serve", "--store", uri),
      ] {
        #expect(result.status == Int32(status) && result.errorOutput.contains(words), "\(result.text)")
        #expect(!result.text.contains("secret"))
      }
      let check = try await site.pushrelay("check", "--store", uri)
      #expect(check.status == 78 && check.output.contains(words) && !check.text.contains("secret"), "\(check.text)")
    }
  }
}
