internal import CPostgreSQL
import Operations
import PushCore

/// What a statement answered; all values are in the binary format. Freed once in `deinit`.
@safe final class QueryResult {  // the handle stays in here and is cleared once
  private let handle: OpaquePointer

  /// Takes over the result.
  @unsafe init(_ handle: OpaquePointer) { unsafe self.handle = handle }

  deinit { unsafe PQclear(handle) }

  /// Number of rows.
  var count: Int { Int(unsafe PQntuples(handle)) }

  /// The rows, in order.
  var rows: some Sequence<Row> { (0..<Int32(count)).lazy.map { Row(result: self, index: $0) } }

  /// Rows inserted, changed or deleted.
  var changes: Int { Int(unsafe String(cString: PQcmdTuples(handle))) ?? 0 }

  fileprivate func isNull(_ row: Int32, _ column: Int32) -> Bool { unsafe PQgetisnull(handle, row, column) == 1 }

  /// The bytes live as long as the result: they must not leave `body`.
  @unsafe fileprivate func withBytes<Result>(
    _ row: Int32, _ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result {
    let count = Int(unsafe PQgetlength(handle, row, column))
    return unsafe body(UnsafeRawBufferPointer(start: PQgetvalue(handle, row, column), count: count))
  }
}

/// One row of a result.
struct Row {
  fileprivate let result: QueryResult
  fileprivate let index: Int32

  /// A whole number of any width; NULL reads as 0.
  func integer(_ column: Int32) -> Int64 {
    unsafe result.withBytes(index, column) { bytes in
      guard let first = unsafe bytes.first else { return 0 }
      return unsafe bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
    }
  }

  /// A whole number; NULL reads as 0.
  func count(_ column: Int32) -> Int { Int(integer(column)) }

  /// A truth value; NULL reads as false.
  func bool(_ column: Int32) -> Bool { integer(column) != 0 }

  /// A text; NULL reads as "".
  func text(_ column: Int32) -> String {
    unsafe result.withBytes(index, column) { unsafe StoredText.decode($0) }
  }

  /// Bytes; NULL reads as none.
  func bytes(_ column: Int32) -> [UInt8] {
    unsafe result.withBytes(index, column) { unsafe Array($0) }
  }

  /// A time; NULL reads as the beginning of 2000.
  func time(_ column: Int32) -> UnixMilliseconds { StoredTime.decode(integer(column)) }

  /// The value that `read` takes from the column, or nil for NULL.
  func optional<Value>(_ column: Int32, _ read: (Row) -> (Int32) -> Value) -> Value? {
    result.isNull(index, column) ? nil : read(self)(column)
  }

  /// Adds the row to a window: id, credential, token, registered_at in the columns 0-3.
  func append(to window: inout DeviceWindow, isRetired: Bool = false, isMember: Bool = true) {
    unsafe result.withBytes(index, 2) { token in
      unsafe window.append(
        id: DeviceID(integer(0)), credential: CredentialID(integer(1)), registeredAt: time(3), token: token,
        isRetired: isRetired, isMember: isMember)
    }
  }
}
