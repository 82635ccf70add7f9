import Operations
import PushCore
import StorePostgreSQL
import StoreSQLite

/// Moves everything of an SQLite store into a PostgreSQL database that has none.
public struct StoreMove {
  /// What arrived, for each table.
  public struct Arrived: Sendable {
    /// The table.
    public let table: String
    /// Its rows; for packed receipts the devices.
    public let count: Int64
  }

  /// Rows that are committed together.
  private static let batch = 1000

  /// Marks the source, copies it, compares, and finishes; a run that was interrupted is taken up where it stood.
  ///
  /// - Throws: when a relay works on the source, when the destination has a store of its own, or when the counts differ at the end.
  public static func run(
    from path: String, to database: PostgreSQLLocation, clocks: any Clocks
  ) throws(StoreError) -> [Arrived] {
    // The destination first: while it cannot be used, the source stays in service.
    let destination = try MoveDestination(database)
    let source = try MoveSource(path: path, clocks: clocks)
    try destination.check(for: source.moveID(), of: "sqlite:\(path)")
    let moveID = try source.begin(to: database.description)
    let isFinished = try destination.begin(moveID, from: "sqlite:\(path)", days: source.days())
    if !isFinished {
      for table in MovedTable.all { try copy(table, from: source, to: destination) }
    }
    var arrived: [Arrived] = []
    for table in MovedTable.all {
      let count = try source.measure(of: table)
      if !isFinished { try compare(count, try destination.measure(of: table), table) }
      arrived.append(Arrived(table: table.name, count: count))
    }
    if !isFinished { try destination.finish(deviceSequence: source.deviceSequence()) }
    try source.finish()
    return arrived
  }

  private static func copy(
    _ table: MovedTable, from source: MoveSource, to destination: MoveDestination
  ) throws(StoreError) {
    var last = try destination.progress(of: table)
    while true {
      let rows = try source.rows(of: table, after: last, limit: batch)
      // A table without a key is moved at once, or was.
      if rows.isEmpty || table.keyCount == 0 && last != nil { return }
      try destination.insert(rows, into: table, after: last)
      last = MovedKey(of: rows[rows.count - 1], in: table)
      if rows.count < batch || table.keyCount == 0 { return }
    }
  }

  private static func compare(_ sent: Int64, _ present: Int64, _ table: MovedTable) throws(StoreError) {
    guard sent != present else { return }
    throw StoreError(
      code: .unusable, operation: "move", underlying: "of \(sent) in \(table.name), \(present) arrived",
      remedy: "Drop the schema pushrelay of the new database and run the command again; the old store is unchanged.")
  }
}
