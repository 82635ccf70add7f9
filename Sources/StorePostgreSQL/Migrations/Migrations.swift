import PushCore

/// Brings the schema `pushrelay` of a database to that of this version: each migration once, in order, all in one transaction.
///
/// A change of the schema is one more text at the end of ``all``; texts that were released are never edited.
enum Migrations {
  /// The migrations, from version 1 on.
  static let all = [
    migration001, migration002, migration003, migration004, migration005, migration006, migration007, migration008,
    migration009,
  ]

  /// The roles of backends, with what ``migration003`` and ``migration004`` grant them.
  static let grants = [
    ("pushrelay_enqueue", "'{enqueue,wake}', '{}'"),
    ("pushrelay_read", "'{read_varint,unpack_receipts}', '{receipt_rows}'"),
  ]

  /// Held while the schema is looked at and changed: of processes that start together one migrates, the others wait.
  private static let lock = "SELECT pg_advisory_xact_lock(7261001)"

  /// Applies what is missing; returns the versions before and after.
  static func apply(_ migrations: [String] = all, to connection: Connection) throws(StoreError) -> (from: Int, to: Int)
  {
    try connection.execute("BEGIN; SET LOCAL client_min_messages=warning; \(lock)")
    do throws(StoreError) {
      let present = try version(connection)
      guard present <= migrations.count else { throw tooNew(present, known: migrations.count, connection) }
      if present < migrations.count {
        if present == 0 { try makeSchema(connection) }
        try connection.execute("SET LOCAL search_path=pushrelay")
        for migration in migrations[present...] { try connection.execute(migration) }
        try connection.execute("UPDATE meta SET schema_version=\(migrations.count)")
      }
      try connection.execute("COMMIT")
      return (present, migrations.count)
    } catch {
      // The first failure is the one to report; an open transaction ends with the connection at the latest.
      if connection.isInTransaction { _ = try? connection.execute("ROLLBACK") }
      throw error
    }
  }

  /// Checks that the schema is that of this version, and changes nothing.
  static func check(_ connection: Connection) throws(StoreError) {
    let present = try version(connection)
    guard present <= all.count else { throw tooNew(present, known: all.count, connection) }
    guard present < all.count else { return }
    throw StoreError(
      code: .unavailable, operation: "open \(connection.name)",
      underlying: present == 0
        ? "there is no store in this database yet"
        : "its schema has version \(present), this program needs \(all.count)",
      remedy: "Run pushrelay migrate.")
  }

  /// The schema's version; 0 when there is none.
  static func version(_ connection: Connection) throws(StoreError) -> Int {
    guard try connection.execute("SELECT to_regclass('pushrelay.meta') IS NOT NULL") == "t" else { return 0 }
    let text = try connection.execute("SELECT schema_version FROM pushrelay.meta")
    guard let version = text.flatMap({ Int($0) }), version > 0 else { throw .unreadable("the schema's version") }
    return version
  }

  /// An administrator may have made the schema beforehand, for a role that may make none.
  private static func makeSchema(_ connection: Connection) throws(StoreError) {
    guard try connection.execute("SELECT to_regnamespace('pushrelay') IS NULL") == "t" else { return }
    try connection.execute("CREATE SCHEMA pushrelay")
  }

  private static func tooNew(_ present: Int, known: Int, _ connection: Connection) -> StoreError {
    StoreError(
      code: .unusable, operation: "open \(connection.name)",
      underlying: "its schema has version \(present), this program knows up to \(known)",
      remedy: "Run a version of pushrelay at least as new as the one that migrated the database.")
  }
}
