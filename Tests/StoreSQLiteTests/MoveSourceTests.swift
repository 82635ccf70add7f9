import Operations
import PushCore
import Support
import Testing

@testable import StoreSQLite

/// What of a file moves to another store.
@Suite struct MoveSourceTests {
  /// What another store makes anew.
  private static let left = ["task": Set(["owner", "lease_until"])]

  @Test("Every column of every table moves: a new one is named in the list of what moves")
  func allColumns() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")
    _ = try SQLiteStore.migrate(path: path)
    let connection = try Connection.openWriter(path, SQLiteStore.Options())
    var tables: [String] = []
    try connection.rows("SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite%'", []) { row in
      tables.append(row.text(0))
    }
    #expect(tables.count > 10)
    for table in tables where table != "meta" {
      let moved = MovedTable.all.filter { $0.source == table || $0.name == table }.flatMap(\.columns).map(\.name)
      var columns: Set<String> = []
      try connection.rows(text: "SELECT name FROM pragma_table_info('\(table)')", []) { columns.insert($0.text(0)) }
      #expect(columns.subtracting(moved) == Self.left[table] ?? [], "\(table)")
    }
    _ = directory
  }

  @Test("Rows are read in pages, each once, also where texts with spaces are keys")
  func pages() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")
    _ = try SQLiteStore.migrate(path: path)
    let connection = try Connection.openWriter(path, SQLiteStore.Options())
    try connection.execute(
      """
      WITH n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<25)
      INSERT INTO idempotency SELECT i%3, 'key '||i, x'01', i, i FROM n;
      WITH n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<25)
      INSERT INTO receipt_chunk SELECT i%2, i%3, i%4, i, 1, 1, x'01' FROM n;
      """)
    let source = try MoveSource(path: path, clocks: SystemClocks())
    for table in MovedTable.all where ["idempotency", "receipt_chunk"].contains(table.name) {
      var rows: [[MovedValue]] = []
      while true {
        let last = try rows.last.map { row in
          try #require(MovedKey(MovedKey(of: row, in: table).text, of: table))
        }
        let page = try source.rows(of: table, after: last, limit: 4)
        if page.isEmpty { break }
        rows += page
      }
      #expect(rows.count == 25 && Set(rows.map { "\($0)" }).count == 25)
    }
    _ = directory
  }
}
