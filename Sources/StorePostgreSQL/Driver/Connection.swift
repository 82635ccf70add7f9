internal import CPostgreSQL
import Glibc
import Operations
import PushCore

/// One connection to the database. Made, used and closed on one thread.
@safe final class Connection {  // the handle stays in here and is closed once
  /// PostgreSQL 13: what the statements were written for.
  private static let oldestVersion: Int32 = 130_000

  /// How errors name the database: the URI without its password.
  let name: String
  private let handle: OpaquePointer
  private let answerTime: Duration
  private var prepared: [UInt: String] = [:]
  /// The state of the last failure; reset by ``forgetFailure()``.
  private(set) var failure: SQLState?
  /// Whether the connection is of no use any more.
  private(set) var isLost = false
  /// Whether statements are prepared once; a pooler that shares sessions between transactions may not allow it.
  var preparesStatements = true

  /// Connects.
  ///
  /// - Parameters:
  ///   - patience: how long each host of the URI may take to answer.
  ///   - answerTime: how long any statement may take; after it the connection is lost.
  init(_ location: PostgreSQLLocation, patience: Duration, answerTime: Duration) throws(StoreError) {
    name = location.description
    self.answerTime = answerTime
    unsafe handle = try ConnectionStart.open(location, patience: patience)
    try checkServer()
  }

  deinit { unsafe PQfinish(handle) }

  private func checkServer() throws(StoreError) {
    let version = unsafe PQserverVersion(handle)
    guard version >= Self.oldestVersion else {
      throw StoreError(
        code: .unusable, operation: "connect to \(name)",
        underlying: "the server is PostgreSQL \(version / 10_000)", remedy: "Use PostgreSQL 13 or later.")
    }
    let encoding = unsafe PQparameterStatus(handle, "server_encoding").map { unsafe String(cString: $0) } ?? "unknown"
    guard encoding == "UTF8" else {
      throw StoreError(
        code: .unusable, operation: "connect to \(name)", underlying: "the database has the encoding \(encoding)",
        remedy: "Create it with createdb --encoding UTF8 --template template0.")
    }
  }

  /// The process ID of the backend that serves this connection.
  var backendPID: Int32 { unsafe PQbackendPID(handle) }

  /// Whether a transaction is open, failed or not.
  var isInTransaction: Bool {
    let status = unsafe PQtransactionStatus(handle)
    return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
  }

  /// Forgets the last failure.
  func forgetFailure() { failure = nil }

  // MARK: Statements

  /// Runs a statement. It is prepared at its first use, kept as long as the connection, and found again by the address of its text.
  func query(_ sql: StaticString, _ values: [any Bindable]) throws(StoreError) -> QueryResult {
    guard preparesStatements else { return try query(text: sql.description, values) }
    let key = unsafe UInt(bitPattern: sql.utf8Start)
    if let name = prepared[key] { return try unsafe send(values) { unsafe self.execute(name, $0) } }
    let name = Self.name(sql)
    let types = values.map { Swift.type(of: $0).type }
    let sent = unsafe PQsendPrepare(handle, name, sql.description, Int32(types.count), types)
    _ = try answer(wasSent: sent == 1)
    prepared[key] = name
    return try unsafe send(values) { unsafe self.execute(name, $0) }
  }

  /// The same text has the same name in every process, and another text another (FNV-1a): where a pooler gives us a session that others have
  /// used, a statement is ours or it is not there.
  private static func name(_ sql: StaticString) -> String {
    let hash = sql.description.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { hash, byte in
      (hash ^ UInt64(byte)) &* 0x100_0000_01B3
    }
    return "pushrelay_" + String(hash, radix: 36)
  }

  /// Runs a text that was put together from a few fixed parts.
  func query(text: String, _ values: [any Bindable]) throws(StoreError) -> QueryResult {
    let types = values.map { Swift.type(of: $0).type }
    return try unsafe send(values) { parameters in
      unsafe PQsendQueryParams(
        self.handle, text, parameters.count, types, parameters.values, parameters.lengths, parameters.formats, 1)
    }
  }

  /// Runs texts without parameters; the rows of the last one, in text format.
  @discardableResult
  func execute(_ sql: String) throws(StoreError) -> String? {
    let sent = unsafe PQsendQuery(handle, sql)
    let result = try answer(wasSent: sent == 1)
    return result.rows.first { _ in true }?.text(0)
  }

  /// The names of the prepared statements with the number of their parameters; the tests look at how the server runs each.
  var preparedNames: [String] { Array(prepared.values) }

  @unsafe private func execute(_ name: String, _ parameters: borrowing Parameters) -> Int32 {
    unsafe PQsendQueryPrepared(
      handle, name, parameters.count, parameters.values, parameters.lengths, parameters.formats, 1)
  }

  /// Parameters as libpq takes them; valid inside the closure that got them.
  @unsafe private struct Parameters {
    let count: Int32
    let values: UnsafePointer<UnsafePointer<CChar>?>?
    let lengths: [Int32]
    let formats: [Int32]
  }

  @unsafe private func send(
    _ values: [any Bindable], _ body: (borrowing Parameters) -> Int32
  ) throws(StoreError) -> QueryResult {
    let encoded = values.map(\.encoded)
    let lengths = encoded.map { Int32($0?.count ?? 0) }
    // One buffer for all, and a byte more: an empty value has an address too, a NULL has none.
    let buffer: [UInt8] = encoded.reduce(into: []) { $0 += $1 ?? [] } + [0]
    let sent = unsafe buffer.withUnsafeBytes { bytes in
      var start = 0
      let addresses = unsafe encoded.map { value -> UnsafePointer<CChar>? in
        defer { start += value?.count ?? 0 }
        guard value != nil else { return nil }
        return unsafe bytes.baseAddress.map { unsafe ($0 + start).assumingMemoryBound(to: CChar.self) }
      }
      return unsafe addresses.withUnsafeBufferPointer { addresses in
        unsafe body(
          Parameters(
            count: Int32(values.count), values: addresses.baseAddress, lengths: lengths,
            formats: Array(repeating: 1, count: values.count)))
      }
    }
    return try answer(wasSent: sent == 1)
  }

  // MARK: Answers

  /// Waits for the answer to what was sent: the result of the last statement, or the first failure.
  private func answer(wasSent: Bool) throws(StoreError) -> QueryResult {
    guard wasSent else { throw lost(unsafe String(cString: PQerrorMessage(handle))) }
    let deadline = SystemClocks().monotonicTime() + answerTime
    try flush(until: deadline)
    var last: QueryResult?
    var failure: StoreError?
    while let result = unsafe try nextResult(until: deadline) {
      switch unsafe PQresultStatus(result) {
      case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY: last = unsafe QueryResult(result)
      default:
        failure = unsafe failure ?? self.failure(result)
        unsafe PQclear(result)
      }
    }
    if unsafe PQstatus(handle) == CONNECTION_BAD { isLost = true }
    if let failure { throw failure }
    guard let last else { throw lost("no answer came") }
    return last
  }

  private func flush(until deadline: MonotonicTime) throws(StoreError) {
    while true {
      let left = unsafe PQflush(handle)
      if left == 0 { return }
      guard left > 0 else { throw lost(unsafe String(cString: PQerrorMessage(handle))) }
      guard unsafe SocketWait.wait(PQsocket(handle), for: Int16(POLLIN | POLLOUT), until: deadline) else {
        throw lost("the server takes nothing")
      }
      // A server that waits for us to read its answer reads nothing before.
      _ = unsafe PQconsumeInput(handle)
    }
  }

  @unsafe private func nextResult(until deadline: MonotonicTime) throws(StoreError) -> OpaquePointer? {
    while unsafe PQisBusy(handle) == 1 {
      guard unsafe SocketWait.wait(PQsocket(handle), for: Int16(POLLIN), until: deadline) else {
        throw lost("no answer within \(answerTime)")
      }
      guard unsafe PQconsumeInput(handle) == 1 else { throw lost(unsafe String(cString: PQerrorMessage(handle))) }
    }
    return unsafe PQgetResult(handle)
  }

  /// The failure that a result tells. Its detail and context are left out: they hold values.
  @unsafe private func failure(_ result: OpaquePointer) -> StoreError {
    guard let code = unsafe result_sqlstate(result) else {
      return lost(unsafe String(cString: PQresultErrorMessage(result)))
    }
    let state = SQLState(unsafe String(cString: code))
    failure = state
    return state.error(name, message: unsafe result_message(result).map { unsafe String(cString: $0) } ?? "no message")
  }

  private func lost(_ message: String) -> StoreError {
    isLost = true
    failure = SQLState.none
    let words = message.split(whereSeparator: \.isNewline).first.map(String.init) ?? "the connection is lost"
    return SQLState.none.error(name, message: words)
  }

  // MARK: Notifications

  /// Waits until the server says something by itself, `descriptor` is readable, or the deadline; what other sessions notified until then.
  func notifications(or descriptor: Int32, until deadline: MonotonicTime) throws(StoreError) -> [String] {
    _ = unsafe SocketWait.wait([PQsocket(handle), descriptor], untilReadableOr: deadline)
    guard unsafe PQconsumeInput(handle) == 1 else { throw lost(unsafe String(cString: PQerrorMessage(handle))) }
    var payloads: [String] = []
    while let notification = unsafe PQnotifies(handle) {
      if unsafe notification.pointee.be_pid != backendPID {
        payloads.append(unsafe String(cString: notification.pointee.extra))
      }
      unsafe PQfreemem(notification)
    }
    return payloads
  }
}
