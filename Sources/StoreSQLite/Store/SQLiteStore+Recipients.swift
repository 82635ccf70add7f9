import PushCore

extension SQLiteStore {
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
    try rows(
      """
      SELECT d.device_id, CASE WHEN d.user_verified OR ?3 THEN d.user_id END,
        (SELECT min(i.key) FROM json_each(?2) i CROSS JOIN subscription s ON s.interest_id=i.value AND s.device_id=d.device_id)
      FROM device d WHERE d.device_id IN (SELECT value FROM json_each(?1))
      """, JSONList(read.devices.lazy.map(\.rawValue)), JSONList(read.order.interests.lazy.map(\.rawValue)),
      read.order.reachesUnverifiedUsers
    ) { (row) throws(StoreError) in
      let device = DeviceID(row.integer(0))
      found[device] = read.order.entry(
        of: device, user: row.optional(1, Row.text), interest: row.optional(2, Row.count))
    }
    return read.devices.map { found[$0] }
  }
}
