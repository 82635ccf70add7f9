import Operations
import PushCore

/// What a call of the store runs in: one open transaction on one connection, and the time at which the call began.
///
/// Confined to the connection's thread. Everything a call does goes through it, so that a call can be repeated from its start.
final class Transaction {
  /// The connection.
  let connection: Connection
  /// When the present call began.
  private(set) var now = UnixMilliseconds(0)
  /// Lanes that got work in this transaction; told to the workers after the commit.
  private(set) var wokenLanes: Set<Lane> = []

  private let clocks: any Clocks

  init(connection: Connection, clocks: any Clocks) {
    self.connection = connection
    self.clocks = clocks
  }

  /// Begins a call inside the open transaction.
  func beginCall() { now = clocks.wallTime() }

  /// Says that a lane got work that is due.
  func wake(_ lane: Lane) { wokenLanes.insert(lane) }

  /// The lanes woken since the last time.
  func takeWokenLanes() -> Set<Lane> {
    defer { wokenLanes.removeAll(keepingCapacity: true) }
    return wokenLanes
  }

  /// Runs a statement whose rows, if any, do not matter; returns how many rows it changed.
  @discardableResult
  func run(_ sql: StaticString, _ values: (any Bindable)?...) throws(StoreError) -> Int {
    try connection.run(sql, values)
    return connection.changes
  }

  /// Runs a statement and calls `each` with every row.
  func rows(
    _ sql: StaticString, _ values: (any Bindable)?..., each: (Row) throws(StoreError) -> Void
  ) throws(StoreError) {
    try connection.rows(sql, values, each)
  }

  /// Runs a statement; what `read` makes of its rows.
  func all<Value>(
    _ sql: StaticString, _ values: (any Bindable)?..., read: (Row) throws(StoreError) -> Value
  ) throws(StoreError) -> [Value] {
    var result: [Value] = []
    try connection.rows(sql, values) { (row) throws(StoreError) in result.append(try read(row)) }
    return result
  }

  /// Runs a statement of at most one row; what `read` makes of it.
  func first<Value>(
    _ sql: StaticString, _ values: (any Bindable)?..., read: (Row) throws(StoreError) -> Value
  ) throws(StoreError) -> Value? {
    var result: Value?
    try connection.rows(sql, values) { (row) throws(StoreError) in result = try read(row) }
    return result
  }
}
