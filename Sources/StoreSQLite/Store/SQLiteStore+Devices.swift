import PushCore

extension SQLiteStore {
  /// A page of registered devices, from one snapshot.
  public func devices(_ query: DeviceQuery, after: DeviceID, limit: Int) async throws(StoreError) -> [Device] {
    try await read { (transaction) throws(StoreError) in
      var devices = try transaction.devices(query, after, limit)
      for index in devices.indices { devices[index].interests = try transaction.interests(of: devices[index].id) }
      return devices
    }
  }
}

extension DeviceQuery {
  /// Where the listing starts: the rarest condition leads, so that every listing walks an index in the order of ids.
  fileprivate var source: String {
    if token != nil {
      return "credential c JOIN device d ON d.credential_id=c.credential_id AND d.token=?7"
    }
    if interest != nil {
      return """
        subscription s CROSS JOIN device d ON d.device_id=s.device_id AND s.interest_id=?6 AND s.device_id>?1
          JOIN credential c ON c.credential_id=d.credential_id
        """
    }
    if user != nil {
      return "device d INDEXED BY device_user JOIN credential c ON c.credential_id=d.credential_id AND d.user_id=?4"
    }
    return "device d CROSS JOIN credential c ON c.credential_id=d.credential_id"
  }

  fileprivate var statement: String {
    """
    SELECT d.device_id, a.topic, c.environment, d.token, d.user_id, d.user_verified, d.language, d.registered_at,
      d.retired_at, d.retired_reason
    FROM \(source) JOIN app a ON a.app_id=c.app_id
    WHERE d.device_id>?1 AND d.registered_at>0 AND (?3 IS NULL OR a.topic=?3) AND (?4 IS NULL OR d.user_id=?4)
      AND (?5 IS NULL OR (d.retired_at IS NOT NULL)=?5) AND (?7 IS NULL OR d.token=?7)
      AND (?6 IS NULL OR EXISTS(SELECT 1 FROM subscription x WHERE x.interest_id=?6 AND x.device_id=d.device_id))
    ORDER BY d.device_id LIMIT ?2
    """
  }
}

extension Transaction {
  fileprivate func devices(_ query: DeviceQuery, _ after: DeviceID, _ limit: Int) throws(StoreError) -> [Device] {
    guard let name = query.interest else { return try devices(query, interest: nil, after, limit) }
    // Several apps can have an interest of that name; each is read in its own order.
    let interests = try all(
      """
      SELECT i.interest_id FROM app a CROSS JOIN interest i ON i.app_id=a.app_id AND i.name=?1
      WHERE ?2 IS NULL OR a.topic=?2
      """, name, query.topic
    ) { InterestID($0.integer(0)) }
    var devices: [Device] = []
    for interest in interests { devices += try self.devices(query, interest: interest, after, limit) }
    return Array(devices.sorted { $0.id < $1.id }.prefix(limit))
  }

  private func devices(
    _ query: DeviceQuery, interest: InterestID?, _ after: DeviceID, _ limit: Int
  ) throws(StoreError) -> [Device] {
    var devices: [Device] = []
    try connection.rows(
      text: query.statement,
      [after, limit, query.topic, query.user, query.retired, interest, query.token]
    ) { (row) throws(StoreError) in devices.append(try device(row)) }
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
      language: row.optional(6, Row.text), interests: [], registeredAt: .init(row.integer(7)),
      retiredAt: row.optional(8, Row.integer).map { .init($0) },
      retiredReason: row.optional(9, Row.integer).map { ReasonID(Int32(truncatingIfNeeded: $0)) })
  }

  fileprivate func interests(of device: DeviceID) throws(StoreError) -> [String] {
    try all(
      """
      SELECT i.name FROM subscription s JOIN interest i ON i.interest_id=s.interest_id WHERE s.device_id=?1
      ORDER BY i.name
      """, device
    ) { $0.text(0) }
  }
}
