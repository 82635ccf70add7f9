import Operations
import PushCore

extension Connection {
  /// The connection that writes. The file is created if there is none.
  ///
  /// synchronous=FULL: a commit is on the disk when it returns (https://www.sqlite.org/pragma.html#pragma_synchronous). Checkpoints are the
  /// ``Checkpointer``'s.
  static func openWriter(_ path: String, _ options: SQLiteStore.Options) throws(StoreError) -> Connection {
    if options.creates { try DatabaseFile.createIfMissing(path) }
    try DatabaseFile.checkAccess(path)
    try DatabaseFile.checkDisk(path)
    let connection = try Connection(path: path, busyTimeout: options.busyTimeout)
    try connection.useWriteAheadLog(patience: options.busyTimeout)
    try connection.execute(
      """
      PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384;
      PRAGMA journal_size_limit=\(Checkpointer.keptLogBytes);
      """)
    if let pages = options.maximumBytes.map({ max($0 / pageBytes, 1) }) {
      try connection.execute("PRAGMA max_page_count=\(pages)")
    }
    connection.watchLog()
    return connection
  }

  /// A connection that only reads.
  static func openReader(_ path: String, _ options: SQLiteStore.Options) throws(StoreError) -> Connection {
    let connection = try Connection(path: path, busyTimeout: options.busyTimeout)
    try connection.execute("PRAGMA query_only=ON; PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8192")
    return connection
  }

  /// The connection of the checkpointer. Its patience is short: a reader that never ends must not stop the writer through it.
  static func openCheckpointer(_ path: String) throws(StoreError) -> Connection {
    let connection = try Connection(path: path, busyTimeout: .milliseconds(50))
    try connection.execute(
      "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=\(Checkpointer.keptLogBytes)")
    return connection
  }

  /// The size of a page of the files we create: SQLite's default.
  static let pageBytes: Int64 = 4096

  /// Switches to the write-ahead log. While another process does the same, SQLite answers busy without asking the busy handler.
  private func useWriteAheadLog(patience: Duration) throws(StoreError) {
    let clock = SystemClocks()
    let deadline = clock.monotonicTime() + patience
    while true {
      do throws(StoreError) {
        var mode = ""
        try rows("PRAGMA journal_mode=WAL", []) { (row) throws(StoreError) in mode = row.text(0) }
        guard mode == "wal" else { throw noLog(mode) }
        return
      } catch {
        guard error.code == .temporary, clock.monotonicTime() < deadline else { throw error }
        Threads.sleep(.milliseconds(1))
      }
    }
  }

  private func noLog(_ mode: String) -> StoreError {
    StoreError(
      code: .unavailable, operation: "open \(name)",
      underlying: "the write-ahead log cannot be used here (journal mode \(mode))",
      remedy: "Put the database on a local disk that supports shared memory.")
  }
}
