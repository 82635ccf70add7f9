internal import CSQLite
import Operations
import PushCore

/// One connection to the database file. Made, used and closed on one thread (it is opened without SQLite's own mutexes).
@safe final class Connection {  // the handle stays in here and is closed once
  /// The oldest SQLite with STRICT tables and 64-bit change counts: 3.37.0.
  private static let oldestVersion: Int32 = 3_037_000

  /// How errors name the database.
  let name: String
  private let handle: OpaquePointer
  private let busyWait: BusyWait
  private var statements: [UInt: Statement] = [:]
  private var composedStatements: [String: Statement] = [:]
  /// Pages in the write-ahead log after the last commit of this connection.
  fileprivate(set) var logPages = 0

  /// Opens the file, which exists.
  ///
  /// - Parameter busyTimeout: how long a lock of another connection is waited for.
  init(path: String, busyTimeout: Duration) throws(StoreError) {
    name = "sqlite:\(path)"
    try Self.checkLibrary(name)
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let code = unsafe sqlite3_open_v2(path, &handle, flags, nil)
    guard let opened = unsafe handle else { throw ResultCode(code).error("open \(name)", message: "no memory") }
    guard code == SQLITE_OK else {
      let message = unsafe Self.message(of: opened)
      // A handle is given even when opening fails, and must be closed.
      unsafe sqlite3_close_v2(opened)
      throw ResultCode(code).error("open \(name)", message: message)
    }
    unsafe self.handle = opened
    busyWait = BusyWait(limit: busyTimeout)
    unsafe busyWait.install(on: opened)
    guard unsafe sqlite3_db_readonly(opened, "main") == 0 else {
      throw StoreError(
        code: .notAllowed, operation: "open \(name)", underlying: "this user may only read the file",
        remedy: "Give this user write permission on the file and its directory.")
    }
  }

  deinit {
    statements.removeAll()
    composedStatements.removeAll()
    // Everything is finalized, so it cannot answer SQLITE_BUSY.
    unsafe sqlite3_close_v2(handle)
  }

  /// Set once in a process, before SQLite is used; refused, without harm, when somebody else has used it before.
  private static let isConfigured = sqlite3_config_without_memory_statistics() == SQLITE_OK

  private static func checkLibrary(_ name: String) throws(StoreError) {
    _ = isConfigured
    guard sqlite3_libversion_number() >= oldestVersion, sqlite3_threadsafe() != 0 else {
      throw StoreError(
        code: .unavailable, operation: "open \(name)",
        underlying: "SQLite \(unsafe String(cString: sqlite3_libversion())) is too old or built without threads",
        remedy: "Install SQLite 3.37 or later.")
    }
  }

  /// What SQLite says about the last failure on a handle.
  static func message(of handle: OpaquePointer) -> String { unsafe String(cString: sqlite3_errmsg(handle)) }

  // MARK: Statements

  /// Runs a statement and calls `each` with every row it returns. It is prepared once, kept as long as the connection, and found again by the
  /// address of its text in the program.
  func rows(
    _ sql: StaticString, _ values: [(any Bindable)?], _ each: (Row) throws(StoreError) -> Void
  ) throws(StoreError) {
    let key = unsafe UInt(bitPattern: sql.utf8Start)
    if let statement = statements[key] { return try run(statement, values, each) }
    let statement = try unsafe Statement(sql.description, in: handle, operation: name)
    statements[key] = statement
    try run(statement, values, each)
  }

  /// The same for a text that was put together from a few fixed parts.
  func rows(
    text: String, _ values: [(any Bindable)?], _ each: (Row) throws(StoreError) -> Void
  ) throws(StoreError) {
    if let statement = composedStatements[text] { return try run(statement, values, each) }
    let statement = try unsafe Statement(text, in: handle, operation: name)
    composedStatements[text] = statement
    try run(statement, values, each)
  }

  private func run(
    _ statement: Statement, _ values: [(any Bindable)?], _ each: (Row) throws(StoreError) -> Void
  ) throws(StoreError) {
    defer { statement.reset() }
    try statement.bind(values)
    while try statement.step() { try each(Row(statement: statement)) }
  }

  /// Runs a statement whose rows, if any, do not matter.
  func run(_ sql: StaticString, _ values: [(any Bindable)?]) throws(StoreError) {
    try rows(sql, values) { (_) throws(StoreError) in }
  }

  /// The texts of the statements used so far; the tests look at how SQLite runs each.
  var statementTexts: [String] { statements.values.map(\.text) + composedStatements.values.map(\.text) }

  /// Runs texts of statements without parameters that are used once: settings and migrations.
  func execute(_ sql: String) throws(StoreError) {
    let code = unsafe sqlite3_exec(handle, sql, nil, nil, nil)
    if code != SQLITE_OK { throw unsafe ResultCode(code).error(name, message: Self.message(of: handle)) }
  }

  /// Rows inserted, changed or deleted by the last statement that does such a thing.
  var changes: Int { unsafe Int(sqlite3_changes64(handle)) }

  /// Rows inserted, changed or deleted since the connection was opened.
  var totalChanges: Int64 { unsafe sqlite3_total_changes64(handle) }

  /// Whether a transaction is open: some failures end it by themselves.
  var isInTransaction: Bool { unsafe sqlite3_get_autocommit(handle) == 0 }

  // MARK: Write-ahead log

  /// Keeps ``logPages`` up to date. The hook replaces SQLite's own checkpoints, which would stall the writer.
  func watchLog() {
    _ = unsafe sqlite3_wal_hook(
      handle,
      { owner, _, _, pages in
        guard let owner = unsafe owner else { return SQLITE_OK }
        unsafe Unmanaged<Connection>.fromOpaque(owner).takeUnretainedValue().logPages = Int(pages)
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Copies the log into the file, as far as readers allow; `restart` also waits, as long as the busy timeout, until the log can be written
  /// from its start again. Returns the pages in the log and how many of them are copied.
  func checkpoint(restart: Bool) throws(StoreError) -> (pages: Int, copied: Int) {
    var pages: Int32 = 0
    var copied: Int32 = 0
    let mode = restart ? SQLITE_CHECKPOINT_RESTART : SQLITE_CHECKPOINT_PASSIVE
    let code = unsafe sqlite3_wal_checkpoint_v2(handle, "main", mode, &pages, &copied)
    // Busy is an answer here: readers or a writer were in the way, the figures are right all the same.
    guard code == SQLITE_OK || ResultCode(code).primary == SQLITE_BUSY else {
      throw unsafe ResultCode(code).error("checkpoint \(name)", message: Self.message(of: handle))
    }
    return (Int(max(pages, 0)), Int(max(copied, 0)))
  }
}

/// Waits for a lock: every 0.1 ms at first, every 1 ms later, where SQLite's own handler would sleep up to 100 ms.
private final class BusyWait {
  private let limit: Duration
  private let clock = SystemClocks()
  private var start = MonotonicTime(nanoseconds: 0)

  init(limit: Duration) { self.limit = limit }

  /// Installs it; it lives as long as the connection, which owns it.
  func install(on handle: OpaquePointer) {
    unsafe sqlite3_busy_handler(
      handle,
      { owner, tries in
        guard let owner = unsafe owner else { return 0 }
        return unsafe Unmanaged<BusyWait>.fromOpaque(owner).takeUnretainedValue().wait(tries) ? 1 : 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Sleeps a moment; false when the limit has passed.
  private func wait(_ tries: Int32) -> Bool {
    let now = clock.monotonicTime()
    if tries == 0 { start = now }
    guard now.since(start) < limit else { return false }
    Threads.sleep(.microseconds(min(100 + 20 * Int64(tries), 1000)))
    return true
  }
}
