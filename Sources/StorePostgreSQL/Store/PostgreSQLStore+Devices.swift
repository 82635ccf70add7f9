import PushCore

extension PostgreSQLStore {
  /// A page of registered devices, from one snapshot.
  public func devices(_ query: DeviceQuery, after: DeviceID, limit: Int) async throws(StoreError) -> [Device] {
    try await read { (transaction) throws(StoreError) in
      var devices = try transaction.devices(query, after, limit)
      let interests = try transaction.interestNames(of: devices.map(\.id))
      for index in devices.indices { devices[index].interests = interests[devices[index].id] ?? [] }
      return devices
    }
  }
}

extension DeviceQuery {
  /// Each condition that is given, in words that leave its index in view; the parameters stand in all of them at the same numbers.
  fileprivate var statement: String {
    var source = "device d JOIN credential c ON c.credential_id=d.credential_id JOIN app a ON a.app_id=c.app_id"
    var conditions = ["d.device_id>$1", "d.registered_at>'epoch'"]
    if interest != nil {
      source += " JOIN subscription s ON s.device_id=d.device_id"
      conditions += ["s.interest_id=$6", "s.device_id>$1"]
    }
    if topic != nil { conditions.append("a.topic=$3") }
    if user != nil { conditions.append("d.user_id=$4") }
    if retired != nil { conditions.append("(d.retired_at IS NOT NULL)=$5") }
    if token != nil {
      conditions.append("d.token=$7 AND d.credential_id=ANY(ARRAY(SELECT credential_id FROM credential))")
    }
    return """
      SELECT d.device_id, a.topic, c.environment, d.token, d.user_id, d.user_verified, d.language, d.registered_at,
        d.retired_at, d.retired_reason
      FROM \(source) WHERE \(conditions.joined(separator: " AND ")) ORDER BY d.device_id LIMIT $2
      """
  }
}

extension Transaction {
  fileprivate func devices(_ query: DeviceQuery, _ after: DeviceID, _ limit: Int) throws(StoreError) -> [Device] {
    guard let name = query.interest else { return try devices(query, interest: nil, after, limit) }
    // Several apps can have an interest of that name; each is read in its own order.
    let interests = try all(
      """
      SELECT i.interest_id FROM app a JOIN interest i ON i.app_id=a.app_id AND i.name=$1
      WHERE i.app_id=ANY(ARRAY(SELECT app_id FROM app)) AND ($2 IS NULL OR a.topic=$2)
      """, name, query.topic
    ) { InterestID($0.integer(0)) }
    var devices: [Device] = []
    for interest in interests { devices += try self.devices(query, interest: interest, after, limit) }
    return Array(devices.sorted { $0.id < $1.id }.prefix(limit))
  }

  private func devices(
    _ query: DeviceQuery, interest: InterestID?, _ after: DeviceID, _ limit: Int
  ) throws(StoreError) -> [Device] {
    let result = try connection.query(
      text: query.statement, [after, limit, query.topic, query.user, query.retired, interest, query.token])
    var devices: [Device] = []
    for row in result.rows { devices.append(try device(row)) }
    return devices
  }

  /// The device of a row in the order of the listing's columns; without its interests.
  func device(_ row: Row) throws(StoreError) -> Device {
    guard let environment = Environment(rawValue: UInt8(truncatingIfNeeded: row.integer(2))) else {
      throw .unreadable("device \(row.integer(0))")
    }
    return Device(
      id: DeviceID(row.integer(0)), topic: row.text(1), environment: environment,
      token: DeviceToken(stored: row.text(3)), user: row.optional(4, Row.text), userIsVerified: row.bool(5),
      language: row.optional(6, Row.text), interests: [], registeredAt: row.time(7),
      retiredAt: row.optional(8, Row.time),
      retiredReason: row.optional(9, Row.integer).map { ReasonID(Int32(truncatingIfNeeded: $0)) })
  }

  fileprivate func interestNames(of devices: [DeviceID]) throws(StoreError) -> [DeviceID: [String]] {
    var names: [DeviceID: [String]] = [:]
    try rows(
      """
      SELECT s.device_id, i.name FROM subscription s JOIN interest i ON i.interest_id=s.interest_id
      WHERE s.device_id=ANY($1) ORDER BY i.name
      """, devices
    ) { (row) throws(StoreError) in names[DeviceID(row.integer(0)), default: []].append(row.text(1)) }
    return names
  }
}
