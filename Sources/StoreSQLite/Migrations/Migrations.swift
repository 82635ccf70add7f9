import PushCore

/// Brings a database file to the schema of this version: each migration once, in order, all in one transaction.
///
/// A change of the schema is one more text at the end of ``all``; texts that were released are never edited.
enum Migrations {
  /// The migrations, from version 1 on.
  static let all = [migration001, migration002, migration003, migration004, migration005, migration006, migration007]

  /// `PRAGMA application_id` of our files: "push".
  private static let applicationID: Int64 = 0x7075_7368

  /// Applies what is missing; returns the versions before and after. Other processes that open the file wait then; where nothing is
  /// missing, nobody waits, not even for one that holds the write lock.
  static func apply(_ migrations: [String] = all, to connection: Connection) throws(StoreError) -> (from: Int, to: Int)
  {
    if try version(connection) == migrations.count { return (migrations.count, migrations.count) }
    try connection.execute("BEGIN IMMEDIATE")
    do throws(StoreError) {
      // Read again: another process may have been quicker.
      let present = try version(connection)
      guard present <= migrations.count else { throw tooNew(present, known: migrations.count, connection) }
      if present == 0 { try connection.execute("PRAGMA application_id=\(applicationID)") }
      if present < migrations.count {
        for migration in migrations[present...] { try connection.execute(migration) }
        try connection.run("UPDATE meta SET value=?1 WHERE key='schema_version'", [migrations.count])
      }
      try connection.execute("COMMIT")
      return (present, migrations.count)
    } catch {
      // The first failure is the one to report; an open transaction ends with the connection at the latest.
      try? connection.execute("ROLLBACK")
      throw error
    }
  }

  /// The schema's version; 0 for an empty file.
  private static func version(_ connection: Connection) throws(StoreError) -> Int {
    if try number("SELECT count(*) FROM sqlite_schema", connection) == 0 { return 0 }
    guard try number("PRAGMA application_id", connection) == applicationID else {
      throw StoreError(
        code: .unusable, operation: "open \(connection.name)", underlying: "the file is another program's database",
        remedy: "Give the path of a pushrelay database, or of a file that does not exist yet.")
    }
    guard let version = Int(exactly: try number("SELECT value FROM meta WHERE key='schema_version'", connection)),
      version > 0
    else { throw .unreadable("the schema's version") }
    return version
  }

  private static func number(_ sql: StaticString, _ connection: Connection) throws(StoreError) -> Int64 {
    var number: Int64 = 0
    try connection.rows(sql, []) { (row) throws(StoreError) in number = row.integer(0) }
    return number
  }

  private static func tooNew(_ present: Int, known: Int, _ connection: Connection) -> StoreError {
    StoreError(
      code: .unusable, operation: "open \(connection.name)",
      underlying: "its schema has version \(present), this program knows up to \(known)",
      remedy: "Run a version of pushrelay at least as new as the one that wrote the file.")
  }
}
