import Operations
import PushCore

extension SQLiteStore: SelfServiceStore {
  /// Notes a user and registers their device.
  public func register(_ user: AppUser, device: DeviceRegistration) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      let isKnown = try transaction.appUser(user.id) != nil
      try transaction.run(
        """
        INSERT INTO app_user(user_id,name,created_at,updated_at) VALUES(?1,?2,?3,?3)
        ON CONFLICT(user_id) DO UPDATE SET name=?2, updated_at=?3
        """, user.id, user.name, transaction.now)
      _ = try transaction.register(device)
      return !isKnown
    }
  }

  /// The user of an id.
  public func appUser(_ id: String) async throws(StoreError) -> AppUser? {
    try await read { (transaction) throws(StoreError) in try transaction.appUser(id) }
  }

  /// Registers a device under its Beams id.
  public func register(
    _ candidate: BeamsDeviceID, device: DeviceRegistration, metadata: [UInt8]?
  ) async throws(StoreError) -> BeamsDevice {
    try await write { (transaction) throws(StoreError) in
      let id = try transaction.register(device)
      try transaction.run(
        """
        INSERT INTO beams_device(instance_id,beams_id,device_id,metadata) VALUES(?1,?2,?3,?4)
        ON CONFLICT(device_id,instance_id) DO UPDATE SET metadata=coalesce(?4,metadata)
        """, candidate.instance, candidate.id, id, metadata)
      let name = try transaction.first(
        "SELECT beams_id FROM beams_device WHERE device_id=?1 AND instance_id=?2", id, candidate.instance
      ) { $0.text(0) }
      let known = BeamsDeviceID(instance: candidate.instance, id: name ?? candidate.id)
      guard let device = try transaction.beamsDevice(known) else { throw .unreadable("a Beams device") }
      return device
    }
  }

  /// The device of an id, from one snapshot.
  public func beamsDevice(_ id: BeamsDeviceID) async throws(StoreError) -> BeamsDevice? {
    try await read { (transaction) throws(StoreError) in try transaction.beamsDevice(id) }
  }

  /// Deletes a device.
  public func removeBeamsDevice(_ id: BeamsDeviceID) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      guard let device = try transaction.named(id) else { return false }
      try transaction.remove((device.id, device.credential, device.isRetired))
      return true
    }
  }

  /// Replaces the metadata of a device.
  public func setMetadata(_ metadata: [UInt8], of id: BeamsDeviceID) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      try transaction.run(
        "UPDATE beams_device SET metadata=?3 WHERE instance_id=?1 AND beams_id=?2", id.instance, id.id, metadata) > 0
    }
  }

  /// Changes subscriptions, granted and pending ones.
  public func change(
    _ change: InterestChange, of id: BeamsDeviceID
  ) async throws(StoreError) -> InterestChangeResult {
    try await write { (transaction) throws(StoreError) in
      guard let device = try transaction.named(id) else { return .noDevice }
      return try transaction.change(change, of: device)
    }
  }

  /// Binds a device to a proved user.
  public func bind(_ id: BeamsDeviceID, to user: String) async throws(StoreError) -> UserBindingResult {
    try await write { (transaction) throws(StoreError) in
      guard let device = try transaction.named(id) else { return .noDevice }
      return try transaction.bind(device, to: user)
    }
  }

  /// Stores the notifications of one publish, and its webhook.
  public func publish(
    _ publications: [Publication], publishID: String, instance: String, webhook: Webhook?
  ) async throws(StoreError) -> [NotificationID] {
    let isUrgent = publications.contains { $0.lane == .urgent }
    return try await write(isUrgent: isUrgent) { (transaction) throws(StoreError) in
      var ids: [NotificationID] = []
      for publication in publications {
        guard case .stored(let id, _) = try transaction.publish(publication, headers: publication.headers.encoded)
        else { continue }
        try transaction.run(
          "INSERT INTO beams_publish(publish_id,notification_id,instance_id) VALUES(?1,?2,?3)", publishID, id, instance)
        ids.append(id)
      }
      if let webhook { try transaction.add(webhook, of: publishID) }
      return ids
    }
  }

  /// Notes what a device reports.
  public func mark(
    _ mark: PushMark, at: UnixMilliseconds, publishID: String, by device: BeamsDeviceID
  ) async throws(StoreError) {
    try await write { (transaction) throws(StoreError) in
      guard let named = try transaction.named(device) else { return }
      try transaction.run(
        """
        INSERT INTO receipt_mark(notification_id,device_id,delivered_at,opened_at)
        SELECT p.notification_id, ?3, ?4, ?5 FROM beams_publish p JOIN notification n ON n.notification_id=p.notification_id
        WHERE p.publish_id=?1 AND p.instance_id=?2 AND n.app_id=?6
        ON CONFLICT(notification_id,device_id) DO UPDATE SET
          delivered_at=coalesce(delivered_at,excluded.delivered_at), opened_at=coalesce(opened_at,excluded.opened_at)
        """, publishID, device.instance, named.id, mark == .delivered ? at : nil, mark == .opened ? at : nil,
        named.app)
    }
  }
}

/// A device behind its Beams id.
struct NamedDevice {
  var id: DeviceID
  var app: AppID
  var credential: CredentialID
  var user: String?
  var userIsVerified: Bool
  var isRetired: Bool
}

extension Transaction {
  fileprivate func register(_ registration: DeviceRegistration) throws(StoreError) -> DeviceID {
    var batch = RegistrationBatch(self)
    let result = try batch.register(registration)
    try batch.finish()
    switch result {
    case .added(let id), .refreshed(let id): return id
    }
  }

  fileprivate func appUser(_ id: String) throws(StoreError) -> AppUser? {
    try first("SELECT user_id, name FROM app_user WHERE user_id=?1", id) { AppUser(id: $0.text(0), name: $0.text(1)) }
  }

  fileprivate func named(_ id: BeamsDeviceID) throws(StoreError) -> NamedDevice? {
    try first(
      """
      SELECT d.device_id, c.app_id, d.credential_id, d.user_id, d.user_verified, d.retired_at IS NOT NULL
      FROM beams_device b JOIN device d ON d.device_id=b.device_id JOIN credential c ON c.credential_id=d.credential_id
      WHERE b.instance_id=?1 AND b.beams_id=?2
      """, id.instance, id.id
    ) { row in
      NamedDevice(
        id: DeviceID(row.integer(0)), app: AppID(row.integer(1)), credential: CredentialID(row.integer(2)),
        user: row.optional(3, Row.text), userIsVerified: row.bool(4), isRetired: row.bool(5))
    }
  }

  fileprivate func beamsDevice(_ id: BeamsDeviceID) throws(StoreError) -> BeamsDevice? {
    guard let device = try named(id) else { return nil }
    let metadata = try first(
      "SELECT metadata FROM beams_device WHERE instance_id=?1 AND beams_id=?2", id.instance, id.id
    ) { $0.optional(0, Row.bytes) }
    let interests = try all(
      """
      SELECT name FROM interest WHERE interest_id IN (SELECT interest_id FROM subscription WHERE device_id=?1
        UNION SELECT interest_id FROM subscription_pending WHERE device_id=?1) ORDER BY name
      """, device.id
    ) { $0.text(0) }
    return BeamsDevice(id: id.id, user: device.user, metadata: metadata ?? nil, interests: interests)
  }
}
