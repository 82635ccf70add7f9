import Operations
import PushCore

/// A database into which the rows of another store move. Made and used on one thread.
///
/// All ids stay what they are, so that targets, lists and receipts stay true. Each batch and how far it came are committed together:
/// a move that was interrupted goes on where it stood.
public final class MoveDestination {
  /// Chunks of receipts are cut to this size, as a flush cuts them.
  private static let chunkBytes = 1900

  private let connection: Connection

  /// Connects, and makes the schema `pushrelay` or brings it to this version.
  public init(_ location: PostgreSQLLocation) throws(StoreError) {
    let options = PostgreSQLStore.Options()
    // Counting a large table takes its time.
    connection = try Connection(location, patience: options.connectTime, answerTime: .seconds(3600))
    _ = try Migrations.apply(to: connection)
  }

  /// Makes sure that nothing is here but what an earlier run of the same move brought.
  ///
  /// - Parameter moveID: the number of the move; nil before its first run.
  /// - Throws: when the database has a store of its own, or that of another move.
  public func check(for moveID: Int64?, of source: String) throws(StoreError) {
    try transaction { () throws(StoreError) in
      if let row = try first("SELECT move_id FROM move", []), row.integer(0) == moveID { return }
      let isUsed = try number(
        """
        SELECT (EXISTS(SELECT 1 FROM app) OR EXISTS(SELECT 1 FROM notification_state) OR EXISTS(SELECT 1 FROM move))::integer
        """)
      guard isUsed != 0 else { return }
      throw StoreError(
        code: .unusable, operation: "move \(source) to \(connection.name)",
        underlying: "there is a store in that database already",
        remedy: "Name a database without one; an unused store goes with DROP SCHEMA pushrelay CASCADE.")
    }
  }

  /// Begins the move, or finds that it is begun or finished; whether it is finished.
  public func begin(_ moveID: Int64, from source: String, days: [Int64]) throws(StoreError) -> Bool {
    try transaction { () throws(StoreError) in
      try connection.execute("SELECT pg_advisory_xact_lock(7261003)")
      if let row = try first("SELECT move_id, finished_at IS NOT NULL FROM move", []), row.integer(0) == moveID {
        return row.bool(1)
      }
      _ = try connection.query(
        text: "INSERT INTO move VALUES($1,$2,NULL)", [moveID, source])
      // Partitions are made before their rows come.
      _ = try connection.query(
        text: "SELECT ensure_day(date '2020-01-01'+d::integer) FROM unnest($1::bigint[]) d", [days])
      return false
    }
  }

  /// How far a table has come; nil = nothing of it is here.
  public func progress(of table: MovedTable) throws(StoreError) -> MovedKey? {
    try transaction { () throws(StoreError) in
      try first("SELECT last_key FROM move_progress WHERE table_name=$1", [table.name]).flatMap {
        MovedKey($0.text(0), of: table)
      }
    }
  }

  /// Stores rows that follow `after`.
  ///
  /// - Throws: when another process moves the same store at the same time.
  public func insert(_ rows: [[MovedValue]], into table: MovedTable, after: MovedKey?) throws(StoreError) {
    guard let last = rows.last else { return }
    try transaction { () throws(StoreError) in
      try connection.execute("SELECT pg_advisory_xact_lock(7261003)")
      let present = try first("SELECT last_key FROM move_progress WHERE table_name=$1", [table.name])?.text(0)
      guard present == after?.text else {
        throw StoreError(
          code: .temporary, operation: "move to \(connection.name)", underlying: "another process moves the store too",
          remedy: "Let that one go on.")
      }
      var rows = rows
      if table.name == "receipt_chunk" { rows = try Self.cut(rows) }
      _ = try connection.query(text: Self.insertion(table), table.columns.indices.map { Self.array(rows, $0, table) })
      _ = try connection.query(
        text: """
          INSERT INTO move_progress VALUES($1,$2) ON CONFLICT (table_name) DO UPDATE SET last_key=excluded.last_key
          """, [table.name, MovedKey(of: last, in: table).text])
    }
  }

  /// What the rows of a table are counted by.
  public func measure(of table: MovedTable) throws(StoreError) -> Int64 {
    try transaction { () throws(StoreError) in try number("SELECT (\(table.measure))::bigint FROM \(table.name)") }
  }

  /// Sets what new ids follow, and lets relays serve the store.
  public func finish(deviceSequence: Int64) throws(StoreError) {
    try transaction { () throws(StoreError) in
      _ = try connection.query(
        text: "SELECT setval('device_seq', greatest($1::bigint,1), $1::bigint>0)", [deviceSequence])
      for (table, column) in [
        ("app", "app_id"), ("credential", "credential_id"), ("interest", "interest_id"), ("task", "task_id"),
        ("reason", "reason_id"), ("api_key", "key_id"),
      ] {
        try connection.execute(
          "SELECT setval(pg_get_serial_sequence('\(table)','\(column)'), max(\(column))) FROM \(table) HAVING count(*)>0"
        )
      }
      try connection.execute("UPDATE move SET finished_at=now()")
    }
    // The planner knows nothing of the new rows yet.
    try connection.execute("ANALYZE \(MovedTable.all.map { "pushrelay.\($0.name)" }.joined(separator: ","))")
  }

  /// Refuses a database whose move is not finished.
  static func check(_ connection: Connection) throws(StoreError) {
    guard let source = try connection.execute("SELECT source FROM pushrelay.move WHERE finished_at IS NULL") else {
      return
    }
    throw StoreError(
      code: .unusable, operation: "open \(connection.name)", underlying: "the move of \(source) to it is not finished",
      remedy: "Run pushrelay migrate --from \(source) until it ends.")
  }

  // MARK: Rows

  private static func insertion(_ table: MovedTable) -> String {
    let columns = table.columns.map(\.name).joined(separator: ",")
    let arrays = table.columns.enumerated().map { index, column in
      switch column.form {
      case .integer: "$\(index + 1)::bigint[]"
      case .text, .texts: "$\(index + 1)::text[]"
      case .bytes: "$\(index + 1)::bytea[]"
      case .time: "$\(index + 1)::timestamptz[]"
      case .flag: "$\(index + 1)::boolean[]"
      }
    }
    let values = table.columns.map { column in
      column.form != .texts
        ? "u.\(column.name)"
        : "CASE WHEN u.\(column.name) IS NOT NULL THEN ARRAY(SELECT json_array_elements_text(u.\(column.name)::json)) END"
    }
    return """
      INSERT INTO \(table.name)(\(columns)) OVERRIDING SYSTEM VALUE
      SELECT \(values.joined(separator: ",")) FROM unnest(\(arrays.joined(separator: ","))) u(\(columns)) ON CONFLICT DO NOTHING
      """
  }

  private static func array(_ rows: [[MovedValue]], _ column: Int, _ table: MovedTable) -> any Bindable {
    let values = rows.map { $0[column] }
    return switch table.columns[column].form {
    case .integer: values.map(\.number)
    case .text, .texts: values.map(\.text)
    case .bytes: values.map(\.bytes)
    case .time: values.map { $0.number.map { UnixMilliseconds($0) } }
    case .flag: values.map { $0.number.map { $0 != 0 } }
    }
  }

  /// Chunks of receipts as several rows each, where they are longer than a flush writes them.
  private static func cut(_ rows: [[MovedValue]]) throws(StoreError) -> [[MovedValue]] {
    var cut: [[MovedValue]] = []
    for row in rows { cut += try parts(of: row) }
    return cut
  }

  private static func parts(of row: [MovedValue]) throws(StoreError) -> [[MovedValue]] {
    guard let codes = row[6].bytes, codes.count > chunkBytes, let count = row[4].number else { return [row] }
    guard let chunk = ReceiptChunk(encoded: codes, count: Int(count)) else { throw .unreadable("a chunk of receipts") }
    return chunk.split(into: (codes.count + chunkBytes - 1) / chunkBytes).map { part in
      var cut = row
      cut[2] = .integer(part.devices[0].rawValue)
      cut[3] = .integer(part.devices[part.devices.count - 1].rawValue)
      cut[4] = .integer(Int64(part.devices.count))
      cut[6] = .bytes(part.encoded)
      return cut
    }
  }

  // MARK: What the others say often

  private func transaction<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
    try connection.execute("BEGIN; SET LOCAL search_path=pushrelay")
    do throws(StoreError) {
      let value = try body()
      try connection.execute("COMMIT")
      return value
    } catch {
      // The first failure is the one to report; an open transaction ends with the connection at the latest.
      if connection.isInTransaction { _ = try? connection.execute("ROLLBACK") }
      throw error
    }
  }

  private func first(_ sql: String, _ values: [any Bindable]) throws(StoreError) -> Row? {
    try connection.query(text: sql, values).rows.first { _ in true }
  }

  private func number(_ sql: String) throws(StoreError) -> Int64 { try first(sql, [])?.integer(0) ?? 0 }
}

extension MovedValue {
  fileprivate var number: Int64? { if case .integer(let number) = self { number } else { nil } }
  fileprivate var text: String? { if case .text(let text) = self { text } else { nil } }
  fileprivate var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
}
