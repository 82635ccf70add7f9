import Operations
import PushCore

/// What a call of the store runs in: one open transaction on one connection, and the time at which it began.
///
/// Confined to the connection's thread. Everything a call does goes through it, so that a call can be repeated from its start in another one.
final class Transaction {
  /// The connection.
  let connection: Connection
  /// When it began, by the database's clock.
  let now: UnixMilliseconds
  /// Whether the same call may have been committed before: the connection broke before the answer came. What a call would otherwise take
  /// for another's work may then be its own.
  let mayBeRepeated: Bool
  /// Lanes that got work; told to the workers after the commit.
  private(set) var wokenLanes: Set<Lane> = []

  private var newDevices: [CredentialID: Int] = [:]
  private var newSubscribers: [InterestID: Int] = [:]

  init(connection: Connection, now: UnixMilliseconds, mayBeRepeated: Bool) {
    self.connection = connection
    self.now = now
    self.mayBeRepeated = mayBeRepeated
  }

  /// Says that a lane got work that is due.
  func wake(_ lane: Lane) { wokenLanes.insert(lane) }

  /// Runs a statement whose rows, if any, do not matter; returns how many rows it changed.
  @discardableResult
  func run(_ sql: StaticString, _ values: any Bindable...) throws(StoreError) -> Int {
    try connection.query(sql, values).changes
  }

  /// Runs a statement and calls `each` with every row.
  func rows(
    _ sql: StaticString, _ values: any Bindable..., each: (Row) throws(StoreError) -> Void
  ) throws(StoreError) {
    for row in try connection.query(sql, values).rows { try each(row) }
  }

  /// Runs a statement; what `read` makes of its rows.
  func all<Value>(
    _ sql: StaticString, _ values: any Bindable..., read: (Row) throws(StoreError) -> Value
  ) throws(StoreError) -> [Value] {
    var result: [Value] = []
    for row in try connection.query(sql, values).rows { result.append(try read(row)) }
    return result
  }

  /// Runs a statement of at most one row; what `read` makes of it.
  func first<Value>(
    _ sql: StaticString, _ values: any Bindable..., read: (Row) throws(StoreError) -> Value
  ) throws(StoreError) -> Value? {
    for row in try connection.query(sql, values).rows { return try read(row) }
    return nil
  }

  // MARK: Hints at sizes

  /// Adds to the hint at a credential's devices, before the commit.
  func countDevices(of credential: CredentialID, by delta: Int) { newDevices[credential, default: 0] += delta }

  /// Adds to the hint at an interest's size, before the commit.
  func countSubscribers(of interest: InterestID, by delta: Int) { newSubscribers[interest, default: 0] += delta }

  /// Writes the hints: last, since many transactions change these rows, and in one order, so that none waits for another in a circle.
  func finish() throws(StoreError) {
    let credentials = newDevices.filter { $0.value != 0 }.sorted { $0.key.rawValue < $1.key.rawValue }
    if !credentials.isEmpty {
      try rows(
        "SELECT 1 FROM credential WHERE credential_id=ANY($1) ORDER BY credential_id FOR NO KEY UPDATE",
        credentials.map(\.key)
      ) { (_) throws(StoreError) in }
      try run(
        """
        UPDATE credential SET approx_devices=greatest(approx_devices+u.delta,0) FROM unnest($1,$2) u(id,delta)
        WHERE credential_id=u.id AND credential_id=ANY($1)
        """, credentials.map(\.key), credentials.map(\.value))
    }
    let interests = newSubscribers.filter { $0.value != 0 }.sorted { $0.key < $1.key }
    if !interests.isEmpty {
      try rows(
        "SELECT 1 FROM interest WHERE interest_id=ANY($1) ORDER BY interest_id FOR NO KEY UPDATE", interests.map(\.key)
      ) { (_) throws(StoreError) in }
      try run(
        """
        UPDATE interest SET approx_size=greatest(approx_size+u.delta,0) FROM unnest($1,$2) u(id,delta)
        WHERE interest_id=u.id AND interest_id=ANY($1)
        """, interests.map(\.key), interests.map(\.value))
    }
  }
}
