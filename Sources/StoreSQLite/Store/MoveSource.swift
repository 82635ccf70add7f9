import Operations
import PushCore

/// A file whose rows move to another store. Made and used on one thread.
///
/// It is marked first: from then on every write to it is refused, by this version and any other, also in processes that have it open.
/// So nothing changes while its rows are read, and nobody sends twice.
public final class MoveSource {
  /// The destination and whether everything is there.
  private struct Mark {
    var moveID: Int64
    var destination: String
    var isFinished: Bool
  }

  private let connection: Connection
  private let owners: OwnerLocks
  private let clocks: any Clocks

  /// Opens the file and brings it to the schema of this version.
  public init(path: String, clocks: any Clocks) throws(StoreError) {
    var options = SQLiteStore.Options()
    options.creates = false
    connection = try .openWriter(path, options)
    owners = OwnerLocks(database: path)
    self.clocks = clocks
    _ = try Migrations.apply(to: connection)
  }

  /// The number of the move that was begun; nil when none was.
  public func moveID() throws(StoreError) -> Int64? { try Self.mark(connection)?.moveID }

  /// Marks the file, or finds the mark of an earlier run; the number of the move.
  ///
  /// - Throws: when a relay works on it, or it was moved elsewhere.
  public func begin(to destination: String) throws(StoreError) -> Int64 {
    try transaction { () throws(StoreError) in
      if let mark = try Self.mark(connection) {
        guard mark.destination == destination, !mark.isFinished else { throw Self.moved(mark, connection) }
        return mark.moveID
      }
      let leased = try number(
        "SELECT count(*) FROM task WHERE state=1 AND lease_until>?1", [clocks.wallTime()])
      guard leased == 0, !owners.isServed() else {
        throw StoreError(
          code: .temporary, operation: "move \(connection.name)",
          underlying: leased == 0 ? "a relay serves it" : "a relay works on it: \(leased) of its tasks are leased",
          remedy:
            "Stop every pushrelay serve on it with SIGTERM and try again; what a killed one left is free within 15 s.")
      }
      let moveID = Int64.random(in: 1...1 << 52)
      try connection.execute(
        "CREATE TABLE moved(move_id INTEGER NOT NULL, destination TEXT NOT NULL, finished_at INTEGER) STRICT")
      try connection.run("INSERT INTO moved VALUES(?1,?2,NULL)", [moveID, destination])
      try refuseWrites(destination)
      return moveID
    }
  }

  /// Says that everything has arrived.
  public func finish() throws(StoreError) {
    try connection.run("UPDATE moved SET finished_at=?1", [clocks.wallTime()])
  }

  /// The next rows of a table by ascending key.
  public func rows(of table: MovedTable, after: MovedKey?, limit: Int) throws(StoreError) -> [[MovedValue]] {
    let key = table.columns.prefix(table.keyCount).map(\.name).joined(separator: ",")
    let marks = (1...max(table.keyCount, 1)).map { "?\($0)" }.joined(separator: ",")
    let condition = after == nil || table.keyCount == 0 ? "" : "WHERE (\(key))>(\(marks))"
    let order = table.keyCount == 0 ? "" : "ORDER BY \(key) LIMIT \(limit)"
    let columns = table.columns.map { "\($0.source) AS \($0.name)" }.joined(separator: ",")
    var rows: [[MovedValue]] = []
    try connection.rows(
      text: "SELECT \(columns) FROM \(table.source) \(condition) \(order)", after?.values.map(Self.bound) ?? []
    ) { (row) throws(StoreError) in
      rows.append(table.columns.enumerated().map { Self.value(row, Int32($0.offset), $0.element.form) })
    }
    return rows
  }

  /// What the rows of a table are counted by.
  public func measure(of table: MovedTable) throws(StoreError) -> Int64 {
    try number("SELECT \(table.measure) FROM \(table.source)")
  }

  /// The number of the device that registered last.
  public func deviceSequence() throws(StoreError) -> Int64 {
    try number("SELECT value FROM meta WHERE key='device_seq'")
  }

  /// The days since 2020 (UTC) whose ids notifications have.
  public func days() throws(StoreError) -> [Int64] {
    var days: [Int64] = []
    try connection.rows("SELECT DISTINCT (notification_id>>12)/86400000 FROM notification", []) {
      (row) throws(StoreError) in days.append(row.integer(0))
    }
    return days
  }

  // MARK: Mark

  /// Refuses a file that was moved, or whose move is not finished; says where everything is.
  static func check(_ connection: Connection) throws(StoreError) {
    if let mark = try mark(connection) { throw moved(mark, connection) }
  }

  private static func mark(_ connection: Connection) throws(StoreError) -> Mark? {
    var isThere = false
    try connection.rows("SELECT 1 FROM sqlite_schema WHERE name='moved'", []) { (_) throws(StoreError) in isThere = true
    }
    guard isThere else { return nil }
    var mark: Mark?
    try connection.rows("SELECT move_id, destination, finished_at IS NOT NULL FROM moved", []) {
      (row) throws(StoreError) in
      mark = Mark(moveID: row.integer(0), destination: row.text(1), isFinished: row.bool(2))
    }
    return mark
  }

  private static func moved(_ mark: Mark, _ connection: Connection) -> StoreError {
    StoreError(
      code: .unusable, operation: "open \(connection.name)",
      underlying: mark.isFinished
        ? "the store was moved to \(mark.destination)" : "the move of the store to \(mark.destination) is not finished",
      remedy: mark.isFinished
        ? "Name that place in the setting store."
        : "Run pushrelay migrate --from \(connection.name) with that store until it ends.")
  }

  /// Triggers hold for every process, whatever its version. They ask for the mark, so that deleting it is the way back.
  private func refuseWrites(_ destination: String) throws(StoreError) {
    var tables: [String] = []
    try connection.rows(
      "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite%' AND name NOT IN ('moved','meta')",
      []
    ) { (row) throws(StoreError) in tables.append(row.text(0)) }
    let words = "the store was moved to \(destination)".replacing("'", with: "''")
    for table in tables {
      for change in ["INSERT", "UPDATE", "DELETE"] {
        try connection.execute(
          """
          CREATE TRIGGER moved_\(table)_\(change) BEFORE \(change) ON \(table) WHEN EXISTS(SELECT 1 FROM moved)
          BEGIN SELECT RAISE(ABORT, '\(words)'); END
          """)
      }
    }
  }

  // MARK: What the others say often

  private func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    try connection.execute("BEGIN IMMEDIATE")
    do throws(StoreError) {
      let value = try body()
      try connection.execute("COMMIT")
      return value
    } catch {
      // The first failure is the one to report; an open transaction ends with the connection at the latest.
      try? connection.execute("ROLLBACK")
      throw error
    }
  }

  private func number(_ sql: String, _ values: [(any Bindable)?] = []) throws(StoreError) -> Int64 {
    var number: Int64 = 0
    try connection.rows(text: sql, values) { (row) throws(StoreError) in number = row.integer(0) }
    return number
  }

  private static func bound(_ value: MovedValue) -> (any Bindable)? {
    switch value {
    case .null: nil
    case .integer(let number): number
    case .text(let text): text
    case .bytes(let bytes): bytes
    }
  }

  private static func value(_ row: Row, _ column: Int32, _ form: MovedTable.Form) -> MovedValue {
    switch form {
    case .integer, .time, .flag: row.optional(column, Row.integer).map { .integer($0) } ?? .null
    case .text, .texts: row.optional(column, Row.text).map { .text($0) } ?? .null
    case .bytes: row.optional(column, Row.bytes).map { .bytes($0) } ?? .null
    }
  }
}
