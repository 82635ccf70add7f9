import PushCore

extension SQLiteStore {
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
  /// Ends the tasks that nobody has; a leased one hears of it at its next flush or renewal.
  fileprivate func cancel(_ id: NotificationID) throws(StoreError) -> Bool? {
    let marked = try run(
      "UPDATE notification_state SET canceled_at=?2 WHERE notification_id=?1 AND done_at IS NULL AND canceled_at IS NULL",
      id, now)
    guard marked == 1 else {
      return try first("SELECT 1 FROM notification_state WHERE notification_id=?1", id) { _ in false }
    }
    let left = try first(
      """
      SELECT count(*), coalesce(sum(CASE WHEN attempt=0 THEN max(n-settled,0) END),0), coalesce(sum(max(n-settled,0)),0),
        coalesce(max(attempt=0 AND n=0),0)
      FROM task WHERE notification_id=?1 AND state<>1
      """, id
    ) { (tasks: $0.count(0), devices: $0.count(1), canceled: $0.count(2), isCut: $0.bool(3)) }
    guard let left, left.tasks > 0 else { return true }
    try run("DELETE FROM task WHERE notification_id=?1 AND state<>1", id)
    var counts = Counts()
    counts.devices = left.devices
    counts.canceled = left.canceled
    try account(counts, openTasks: -left.tasks, cut: left.isCut, in: id)
    return true
  }

  fileprivate func unpark(_ id: NotificationID) throws(StoreError) -> Int {
    let lanes = try all(
      "UPDATE task SET state=0, claims=0, due_at=max(due_at,?2) WHERE notification_id=?1 AND state=2 RETURNING lane",
      id,
      now
    ) { $0.integer(0) }
    for lane in lanes { Lane(rawValue: UInt8(truncatingIfNeeded: lane)).map(wake) }
    return lanes.count
  }
}
