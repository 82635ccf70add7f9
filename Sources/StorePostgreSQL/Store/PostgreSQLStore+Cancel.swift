import PushCore

extension PostgreSQLStore {
  /// Ends what no worker has; workers hear of it at their next flush or renewal.
  public func cancel(_ id: NotificationID) async throws(StoreError) -> Bool? {
    try await write { (transaction) throws(StoreError) in try transaction.cancel(id) }
  }

  /// Makes parked tasks ready.
  public func unpark(_ id: NotificationID) async throws(StoreError) -> Int {
    try await write { (transaction) throws(StoreError) in try transaction.unpark(id) }
  }
}

extension Transaction {
  /// Ends the tasks that nobody has. A leased one hears of it at its next flush or renewal; a list that a flush makes at the same moment is
  /// claimed as canceled.
  fileprivate func cancel(_ id: NotificationID) throws(StoreError) -> Bool? {
    let marked = try run(
      """
      UPDATE notification_state SET canceled_at=$2
      WHERE notification_id=$1 AND done_at IS NULL AND canceled_at IS NULL
      """, id, now)
    guard marked == 1 else {
      let isCanceled = try first(
        "SELECT canceled_at IS NOT NULL FROM notification_state WHERE notification_id=$1", id
      ) { $0.bool(0) }
      return isCanceled.map { $0 && mayBeRepeated }
    }
    let ended = try all(
      "DELETE FROM task WHERE notification_id=$1 AND state<>1 RETURNING attempt=0, n, greatest(n-settled,0)", id
    ) { (isFirst: $0.bool(0), count: $0.count(1), left: $0.count(2)) }
    var ledger = Ledger()
    for task in ended {
      var counts = Counts()
      counts.canceled = task.left
      if task.isFirst { counts.devices = task.left }
      ledger.add(counts, openTasks: -1, cut: task.isFirst && task.count == 0, in: id)
    }
    try ledger.write(to: self, slot: 0)
    return true
  }

  fileprivate func unpark(_ id: NotificationID) throws(StoreError) -> Int {
    let lanes = try all(
      """
      UPDATE task SET state=0, claims=0, due_at=greatest(due_at,$2) WHERE notification_id=$1 AND state=2 RETURNING lane
      """, id, now
    ) { $0.integer(0) }
    for lane in lanes { Lane(rawValue: UInt8(truncatingIfNeeded: lane)).map(wake) }
    return lanes.count
  }
}
