import PushCore

extension PostgreSQLStore {
  /// Whose values devices take, from one snapshot that holds every commit answered before.
  public func entries(_ reads: [RecipientRead]) async throws(StoreError) -> [[Int?]] {
    try await walk { (transaction) throws(StoreError) in
      var entries: [[Int?]] = []
      for read in reads { entries.append(try transaction.entries(read)) }
      return entries
    }
  }
}

extension Transaction {
  fileprivate func entries(_ read: RecipientRead) throws(StoreError) -> [Int?] {
    var found: [DeviceID: Int] = [:]
    // The condition with ANY lets each device's subscriptions be found by both columns of the key.
    try rows(
      """
      SELECT d.device_id, CASE WHEN d.user_verified OR $3 THEN d.user_id END,
        (SELECT min(array_position($2,s.interest_id)) FROM subscription s
          WHERE s.device_id=d.device_id AND s.interest_id=ANY($2))
      FROM device d WHERE d.device_id=ANY($1)
      """, read.devices, read.order.interests, read.order.reachesUnverifiedUsers
    ) { (row) throws(StoreError) in
      let device = DeviceID(row.integer(0))
      // Arrays count from 1.
      found[device] = read.order.entry(
        of: device, user: row.optional(1, Row.text), interest: row.optional(2, Row.count).map { $0 - 1 })
    }
    return read.devices.map { found[$0] }
  }
}
