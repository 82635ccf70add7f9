import Operations
import PushCore
import Support
import Testing

@testable import StoreSQLite

/// The thin layer over SQLite.
@Suite struct DriverTests {
  private let directory: TemporaryDirectory
  private let connection: Connection

  init() throws {
    directory = try TemporaryDirectory()
    let path = directory.path(of: "test.db")
    connection = try Connection.openWriter(path, .init())
    try connection.execute("CREATE TABLE t(i INTEGER, s TEXT, b BLOB) STRICT")
  }

  private func roundTrip(_ text: String?, _ bytes: [UInt8]?) throws -> (String?, [UInt8]?, Int64) {
    try connection.run("DELETE FROM t", [])
    try connection.run("INSERT INTO t VALUES(?1,?2,?3)", [Int64.min, text, bytes])
    var result: (String?, [UInt8]?, Int64) = (nil, nil, 0)
    try connection.rows("SELECT s, b, i FROM t", []) { (row) throws(StoreError) in
      result = (row.optional(0, Row.text), row.optional(1, Row.bytes), row.integer(2))
    }
    return result
  }

  @Test("Texts and bytes come back whole, empty ones as empty and nil as nil")
  func values() throws {
    for text in ["", "a", "a\0b", "é😀", String(repeating: "x", count: 100_000)] {
      #expect(try roundTrip(text, nil).0 == text)
    }
    for bytes: [UInt8] in [[], [0], [0, 255, 0], Array(repeating: 7, count: 100_000)] {
      #expect(try roundTrip(nil, bytes).1 == bytes)
    }
    #expect(try roundTrip(nil, nil) == (nil, nil, Int64.min))
  }

  @Test("A bound text does not depend on what happens to it afterwards")
  func copies() throws {
    var texts = (0..<50).map { "text \($0)" }
    for text in texts { try connection.run("INSERT INTO t(s) VALUES(?1)", [text]) }
    texts = []
    var count = 0
    try connection.rows("SELECT s FROM t ORDER BY rowid", []) { (row) throws(StoreError) in
      #expect(row.text(0) == "text \(count)")
      count += 1
    }
    #expect(count == 50)
  }

  @Test(
    "Each result code tells the caller what to do",
    arguments: [
      (5, StoreError.Code.temporary), (517, .temporary), (13, .temporary), (8, .temporary), (1032, .temporary),
      (10, .temporary), (14, .unavailable), (1544, .notAllowed), (3, .notAllowed), (23, .notAllowed), (11, .unusable),
      (26, .unusable),
      (1, .internal), (19, .internal), (2067, .internal),
    ] as [(Int32, StoreError.Code)])
  func codes(_ code: Int32, _ expected: StoreError.Code) {
    let error = ResultCode(code).error("publish", message: "words")
    #expect(error.code == expected)
    // Who holds the lock is said in our words: the library's, "database is locked", sound like a damaged file.
    let isLocked = code & 0xFF == 5
    #expect(error.description.contains("publish"))
    #expect(error.description.contains(isLocked ? "another process holds the write lock" : "words"))
    #expect(!error.remedy.isEmpty)
  }

  @Test("An error names the constraint, not the values")
  func errorsAreSafe() throws {
    try connection.execute("CREATE UNIQUE INDEX u ON t(s)")
    try connection.run("INSERT INTO t(s) VALUES(?1)", ["a secret token"])
    let error = #expect(throws: StoreError.self) {
      try connection.run("INSERT INTO t(s) VALUES(?1)", ["a secret token"])
    }
    #expect(error?.code == .internal)
    #expect(error?.description.contains("t.s") == true)
    #expect(error?.description.contains("secret") == false)
    #expect(try connection.number("SELECT count(*) FROM t") == 1)
  }

  @Test("A failure in the middle of the rows leaves the statement usable")
  func failingReader() throws {
    for _ in 0..<3 { try connection.run("INSERT INTO t(i) VALUES(1)", []) }
    let failure = StoreError(code: .internal, operation: "a", underlying: "b", remedy: "c")
    #expect(throws: failure) {
      try connection.rows("SELECT i FROM t", []) { (_) throws(StoreError) in throw failure }
    }
    var count = 0
    try connection.rows("SELECT i FROM t", []) { (_) throws(StoreError) in count += 1 }
    #expect(count == 3)
    try connection.execute("DROP TABLE t")
  }

  @Test("A locked database is waited for as long as told, not longer")
  func busy() throws {
    let other = try Connection(path: directory.path(of: "test.db"), busyTimeout: .milliseconds(30))
    try connection.execute("BEGIN IMMEDIATE")
    let clock = SystemClocks()
    let start = clock.monotonicTime()
    let error = #expect(throws: StoreError.self) { try other.execute("BEGIN IMMEDIATE") }
    let waited = clock.monotonicTime().since(start)

    #expect(error?.code == .temporary)
    #expect(waited >= .milliseconds(30) && waited < .seconds(5))
    try connection.execute("COMMIT")
    try other.execute("BEGIN IMMEDIATE; COMMIT")
  }

  @Test("Urgent calls come first, and an ordinary one still has its turn")
  func backlog() throws {
    func call(_ isUrgent: Bool) -> WriteCall {
      WriteCall(isUrgent: isUrgent, run: { (_) throws(StoreError) in {} }, fail: { _ in })
    }
    var backlog = Backlog()
    backlog.add([call(false), call(true), call(false), call(true)])

    #expect(backlog.next(afterTime: false)?.isUrgent == true)
    #expect(backlog.next(afterTime: true)?.isUrgent == false)
    #expect(backlog.next(afterTime: true) == nil)
    backlog.endTransaction()
    #expect(!backlog.isEmpty)
    #expect(backlog.next(afterTime: false)?.isUrgent == true)
    #expect(backlog.next(afterTime: false)?.isUrgent == false)
    #expect(backlog.next(afterTime: false) == nil)
    backlog.endTransaction()
    #expect(backlog.isEmpty)
  }
}
