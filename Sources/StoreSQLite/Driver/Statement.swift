internal import CSQLite
import PushCore

/// One prepared statement. Owned by its ``Connection``, used on that connection's thread alone, finalized in `deinit`.
@safe final class Statement {  // the handle stays in here and is finalized once
  private let handle: OpaquePointer
  private let operation: String

  /// Prepares `sql`; `operation` names the database in errors.
  init(_ sql: String, in connection: OpaquePointer, operation: String) throws(StoreError) {
    var sql = sql
    var statement: OpaquePointer?
    let code = sql.withUTF8 { utf8 in
      unsafe utf8.withMemoryRebound(to: CChar.self) { text in
        unsafe sqlite3_prepare_v3(
          connection, text.baseAddress, Int32(text.count), UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
      }
    }
    guard code == SQLITE_OK, let statement = unsafe statement else {
      throw unsafe ResultCode(code).error(operation, message: Connection.message(of: connection))
    }
    unsafe handle = statement
    self.operation = operation
  }

  deinit {
    // The code repeats the failure of the last step, which was reported there.
    unsafe sqlite3_finalize(handle)
  }

  /// Its text.
  var text: String { unsafe sqlite3_sql(handle).map { unsafe String(cString: $0) } ?? "" }

  /// Binds all parameters, in order; text and blobs are copied.
  func bind(_ values: [(any Bindable)?]) throws(StoreError) {
    for (index, value) in values.enumerated() {
      let code =
        switch value?.boundValue {
        case nil: unsafe sqlite3_bind_null(handle, Int32(index + 1))
        case .integer(let number): unsafe sqlite3_bind_int64(handle, Int32(index + 1), number)
        case .text(let text): bind(text, at: Int32(index + 1))
        case .blob(let bytes): bind(bytes, at: Int32(index + 1))
        }
      if code != SQLITE_OK { throw failure(code) }
    }
  }

  private func bind(_ text: String, at index: Int32) -> Int32 {
    var text = text
    return text.withUTF8 { utf8 in
      unsafe utf8.withMemoryRebound(to: CChar.self) { bytes in
        // A null pointer would bind NULL.
        guard let start = bytes.baseAddress else {
          return unsafe sqlite3_bind_text64(handle, index, "", 0, Self.copied, UInt8(SQLITE_UTF8))
        }
        return unsafe sqlite3_bind_text64(handle, index, start, UInt64(bytes.count), Self.copied, UInt8(SQLITE_UTF8))
      }
    }
  }

  private func bind(_ bytes: [UInt8], at index: Int32) -> Int32 {
    unsafe bytes.withUnsafeBytes { buffer in
      guard let start = buffer.baseAddress else {
        return unsafe sqlite3_bind_zeroblob(handle, index, 0)
      }
      return unsafe sqlite3_bind_blob64(handle, index, start, UInt64(buffer.count), Self.copied)
    }
  }

  /// SQLITE_TRANSIENT, a cast that the importer leaves out: SQLite copies the bytes before the call returns.
  private static let copied = unsafe unsafeBitCast(-1, to: sqlite3_destructor_type.self)

  /// Runs to the next row; false at the end.
  func step() throws(StoreError) -> Bool {
    let code = unsafe sqlite3_step(handle)
    switch code {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default: throw failure(code)
    }
  }

  /// Makes it ready for the next use and drops what was bound; ends its hold on the read snapshot.
  func reset() {
    // The code repeats the failure of the last step, which was thrown there.
    unsafe sqlite3_reset(handle)
    unsafe sqlite3_clear_bindings(handle)
  }

  private func failure(_ code: Int32) -> StoreError {
    let connection = unsafe sqlite3_db_handle(handle)
    return unsafe ResultCode(code).error(operation, message: connection.map(Connection.message(of:)) ?? "no connection")
  }

  // MARK: Columns of the present row, from 0

  func isNull(_ column: Int32) -> Bool { unsafe sqlite3_column_type(handle, column) == SQLITE_NULL }

  func integer(_ column: Int32) -> Int64 { unsafe sqlite3_column_int64(handle, column) }

  func text(_ column: Int32) -> String {
    unsafe withBytes(column) { unsafe String(decoding: $0, as: UTF8.self) }
  }

  func bytes(_ column: Int32) -> [UInt8] {
    unsafe withBytes(column) { unsafe Array($0) }
  }

  /// The bytes live until the next step or reset: they must not leave `body`.
  @unsafe private func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    // sqlite3_column_bytes after sqlite3_column_blob, as the manual asks; a NULL or empty value has no address.
    let start = unsafe sqlite3_column_blob(handle, column)
    let count = unsafe Int(sqlite3_column_bytes(handle, column))
    return unsafe body(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
  }

  /// Adds the present row to a window: id, credential, token, registered_at in the columns 0-3.
  func append(to window: inout DeviceWindow, isRetired: Bool = false, isMember: Bool = true) {
    unsafe withBytes(2) { token in
      unsafe window.append(
        id: DeviceID(integer(0)), credential: CredentialID(integer(1)), registeredAt: .init(integer(3)), token: token,
        isRetired: isRetired, isMember: isMember)
    }
  }
}

/// The present row of a statement; valid inside the closure that got it.
struct Row {
  let statement: Statement

  /// A whole number; NULL reads as 0.
  func integer(_ column: Int32) -> Int64 { statement.integer(column) }
  /// A whole number; NULL reads as 0.
  func count(_ column: Int32) -> Int { Int(statement.integer(column)) }
  /// A truth value; NULL reads as false.
  func bool(_ column: Int32) -> Bool { statement.integer(column) != 0 }
  /// A text; NULL reads as "".
  func text(_ column: Int32) -> String { statement.text(column) }
  /// Bytes; NULL reads as none.
  func bytes(_ column: Int32) -> [UInt8] { statement.bytes(column) }

  /// The value that `read` takes from the column, or nil for NULL.
  func optional<Value>(_ column: Int32, _ read: (Row) -> (Int32) -> Value) -> Value? {
    statement.isNull(column) ? nil : read(self)(column)
  }
}
