import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// The thin layer over libpq.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .timeLimit(.minutes(2)))
struct DriverTests {
  private func withConnection(_ body: (Connection, PostgreSQLServer) async throws -> Void) async throws {
    let server = try await PostgreSQLServer.running()
    try await server.withDatabase { uri in
      try await body(try connection(uri), server)
    }
  }

  private func connection(_ uri: String) throws -> Connection {
    try Connection(PostgreSQLLocation(uri), patience: .seconds(10), answerTime: .seconds(20))
  }

  private func echo<Value: Bindable>(_ value: Value, _ connection: Connection) throws -> Row {
    try #require(try connection.query(text: "SELECT $1", [value]).rows.first { _ in true })
  }

  @Test("Values come back whole: empty ones as empty, nil as nil, a NUL byte as a NUL byte")
  func values() async throws {
    try await withConnection { (connection, _) async throws in
      for text in ["", "a", "a\0b", "\u{1}\u{2}\0\u{1}", "é😀", String(repeating: "x", count: 100_000)] {
        #expect(try echo(text, connection).text(0) == text)
      }
      for bytes: [UInt8] in [[], [0], [0, 255, 0], Array(repeating: 7, count: 100_000)] {
        #expect(try echo(bytes, connection).bytes(0) == bytes)
      }
      for number in [0, 1, -1, 255, 1 << 40, Int64.min, .max] {
        #expect(try echo(number, connection).integer(0) == number)
      }
      for time: Int64 in [0, -1, 1_800_000_000_123, -62_135_596_800_000, 253_402_300_799_999] {
        #expect(try echo(UnixMilliseconds(time), connection).time(0).value == time)
      }
      #expect(try echo(UnixMilliseconds(.max), connection).time(0).value == 253_402_300_799_999)
      #expect(try echo(Int64?.none, connection).optional(0, Row.integer) == nil)
      #expect(try echo(true, connection).bool(0) && !(try echo(false, connection).bool(0)))
    }
  }

  @Test("Arrays come back element by element, with their nils")
  func arrays() async throws {
    try await withConnection { (connection, _) async throws in
      let numbers: [Int64?] = [3, nil, -1]
      let texts = ["", "a\0", "{\"b,\\"]
      let blobs: [[UInt8]] = [[], [0, 1]]
      let rows = try connection.query(
        text: "SELECT * FROM unnest($1,$2,$3)", [numbers, texts, blobs]
      ).rows.map { ($0.optional(0, Row.integer), $0.text(1), $0.optional(2, Row.bytes)) }

      #expect(rows.map(\.0) == numbers)
      #expect(rows.map(\.1) == texts)
      #expect(rows.map(\.2) == [[], [0, 1], nil])
      #expect(try connection.query(text: "SELECT * FROM unnest($1)", [[Int64]()]).count == 0)
    }
  }

  @Test("A prepared statement is found again, and a failure leaves the connection usable")
  func statements() async throws {
    try await withConnection { (connection, _) async throws in
      func divide(by number: Int64) throws(StoreError) -> [Int64] {
        try connection.query("SELECT 10/$1", [number]).rows.map { $0.integer(0) }
      }
      #expect(try divide(by: 2) == [5])
      let error = #expect(throws: StoreError.self) { _ = try divide(by: 0) }
      #expect(error?.description.contains("division by zero") == true)
      #expect(try divide(by: 5) == [2])
      #expect(connection.preparedNames.count == 1)
    }
  }

  @Test(
    "Each state tells the caller what to do",
    arguments: [
      ("40001", StoreError.Code.temporary), ("40P01", .temporary), ("53100", .temporary), ("53300", .temporary),
      ("57P01", .temporary), ("57P03", .temporary), ("57014", .temporary), ("55P03", .temporary), ("25006", .temporary),
      ("08006", .temporary), ("58030", .temporary), ("", .temporary), ("3D000", .unavailable), ("28P01", .notAllowed),
      ("28000", .notAllowed), ("42501", .notAllowed), ("42P01", .unusable), ("XX001", .unusable), ("23505", .internal),
      ("42601", .internal), ("22P02", .internal),
    ])
  func states(_ code: String, _ expected: StoreError.Code) {
    let error = SQLState(code).error("publish", message: "words")
    #expect(error.code == expected)
    #expect(error.description.contains("publish") && error.description.contains("words") && !error.remedy.isEmpty)
  }

  @Test("A message of libpq gives the state and the server's words, of the host that answered last")
  func messages() {
    let refused = ConnectionMessage(
      """
      connection to server at "a" (::1), port 1 failed: Connection refused
      \tIs the server running on that host and accepting TCP/IP connections?
      """)
    #expect(refused.state == .none && refused.text.contains("Connection refused"))
    let wrong = ConnectionMessage(
      """
      connection to server at "a" (::1), port 1 failed: Connection refused
      connection to server at "b", port 5432 failed: FATAL:  28P01: password authentication failed for user "x"
      LOCATION:  auth_failed, auth.c:335
      """)
    #expect(wrong.state == SQLState("28P01"))
    #expect(wrong.text == #"password authentication failed for user "x""#)
  }

  @Test("An error names the constraint, not the values")
  func errorsAreSafe() async throws {
    try await withConnection { (connection, _) async throws in
      try connection.execute("CREATE TABLE t(s text UNIQUE)")
      _ = try connection.query(text: "INSERT INTO t VALUES($1)", ["a secret"])
      let error = #expect(throws: StoreError.self) {
        _ = try connection.query(text: "INSERT INTO t VALUES($1)", ["a secret"])
      }
      #expect(error?.code == .internal && error?.description.contains("t_s_key") == true)
      #expect(error?.description.contains("secret") == false)
      #expect(connection.failure == SQLState("23505") && !connection.isLost)
    }
  }

  @Test("A server that does not answer in time, or ends the session, is a lost connection")
  func lost() async throws {
    let server = try await PostgreSQLServer.running()
    try await server.withDatabase { uri in
      let slow = try Connection(PostgreSQLLocation(uri), patience: .seconds(10), answerTime: .milliseconds(50))
      let late = #expect(throws: StoreError.self) { try slow.execute("SELECT pg_sleep(60)") }
      #expect(late?.code == .temporary && slow.isLost)

      let ended = try connection(uri)
      try await server.sql("SELECT pg_terminate_backend(\(ended.backendPID))")
      let gone = #expect(throws: StoreError.self) { try ended.execute("SELECT 1") }
      #expect(gone?.code == .temporary && ended.isLost)
    }
  }

  @Test("A database of another encoding is refused")
  func encoding() async throws {
    let server = try await PostgreSQLServer.running()
    try await server.sql("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    let error = #expect(throws: StoreError.self) { _ = try connection(server.uri("latin")) }
    #expect(error?.code == .unusable && error?.remedy.contains("UTF8") == true)
    try await server.sql("DROP DATABASE latin")
  }

  @Test("Delays between attempts grow from 0.1 to 5 seconds, with jitter, and begin anew after a success")
  func delays() {
    var delay = ReconnectDelay()
    let longest = (0..<10).map { _ in delay.next(jitter: 1) }
    #expect(longest.first == .milliseconds(100) && longest[1] == .milliseconds(200) && longest.last == .seconds(5))
    #expect(delay.next(jitter: 0) == .milliseconds(2500))
    delay.reset()
    #expect(delay.next(jitter: 0) == .milliseconds(50))
  }
}
