import PushCore

extension PostgreSQLStore {
  /// Makes apps and credentials and notes who signs for them.
  public func bind(_ apps: [AppBinding]) async throws(StoreError) -> [Credential] {
    try await write { (transaction) throws(StoreError) in
      for app in apps { try transaction.bind(app) }
      return try transaction.credentials(ofTopics: Set(apps.map(\.topic)))
    }
  }

  /// All credentials.
  public func credentials() async throws(StoreError) -> [Credential] {
    try await read { (transaction) throws(StoreError) in try transaction.credentials(ofTopics: nil) }
  }

  /// Registers devices in one transaction.
  public func register(_ registrations: [DeviceRegistration]) async throws(StoreError) -> [RegistrationResult] {
    try await write { (transaction) throws(StoreError) in
      var batch = RegistrationBatch(transaction)
      return try batch.register(registrations)
    }
  }

  /// Deletes a registered device.
  public func removeDevice(
    topic: String, environment: Environment?, token: DeviceToken
  ) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      let devices = try transaction.registeredDevices(topic: topic, environment: environment, token: token)
      for device in devices { try transaction.remove(device) }
      return !devices.isEmpty
    }
  }

  /// Subscribes or unsubscribes a registered device.
  public func setSubscription(
    topic: String, environment: Environment?, token: DeviceToken, interest: String, subscribed: Bool
  ) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      let devices = try transaction.registeredDevices(topic: topic, environment: environment, token: token)
      guard let app = try transaction.appID(of: topic), !devices.isEmpty else { return false }
      for device in devices {
        if let interest = try transaction.interestID(of: app, interest) {
          try transaction.forgetPending(of: device.id, interest)
        }
        if subscribed {
          let made = try transaction.makeInterests(of: app, [interest]).values
          try transaction.subscribe(made.map { (device: device.id, interest: $0.id) })
        } else if let interest = try transaction.interestID(of: app, interest) {
          try transaction.unsubscribe([(device: device.id, interest: interest)])
        }
      }
      return true
    }
  }
}

extension Transaction {
  fileprivate func bind(_ app: AppBinding) throws(StoreError) {
    try run("INSERT INTO app(topic,created_at) VALUES($1,$2) ON CONFLICT(topic) DO NOTHING", app.topic, now)
    let credential = try credentialID(of: try knownAppID(of: app.topic), app.environment)
    try run(
      """
      UPDATE credential SET team_id=$2, key_id=$3, certificate_sha256=$4
      WHERE credential_id=$1 AND (team_id, key_id, certificate_sha256) IS DISTINCT FROM ($2, $3, $4)
        AND ($2 IS NOT NULL OR $4 IS NOT NULL)
      """, credential, app.teamID, app.keyID, app.certificateSHA256)
  }

  fileprivate func credentials(ofTopics topics: Set<String>?) throws(StoreError) -> [Credential] {
    let all = try all(
      """
      SELECT c.credential_id, c.app_id, a.topic, c.environment, c.team_id, c.key_id, c.held_since, c.held_reason,
        c.certificate_sha256, c.trouble, c.trouble_since
      FROM credential c JOIN app a ON a.app_id=c.app_id ORDER BY c.credential_id
      """
    ) { (row) throws(StoreError) in
      guard let environment = Environment(rawValue: UInt8(truncatingIfNeeded: row.integer(3))) else {
        throw .unreadable("credential \(row.integer(0))")
      }
      let trouble = row.optional(9, Row.text).map { Credential.Trouble(since: row.time(10), text: $0) }
      return Credential(
        id: CredentialID(row.integer(0)), appID: AppID(row.integer(1)), topic: row.text(2), environment: environment,
        teamID: row.optional(4, Row.text), keyID: row.optional(5, Row.text),
        certificateSHA256: row.optional(8, Row.bytes),
        heldSince: row.optional(6, Row.time), heldReason: row.optional(7, Row.text), trouble: trouble)
    }
    guard let topics else { return all }
    return all.filter { topics.contains($0.topic) }
  }

  // MARK: Removal

  fileprivate func registeredDevices(
    topic: String, environment: Environment?, token: DeviceToken
  ) throws(StoreError) -> [(id: DeviceID, credential: CredentialID, isRetired: Bool)] {
    try all(
      """
      SELECT d.device_id, d.credential_id, d.retired_at IS NOT NULL
      FROM app a JOIN credential c ON c.app_id=a.app_id JOIN device d ON d.credential_id=c.credential_id AND d.token=$3
      WHERE a.topic=$1 AND ($2 IS NULL OR c.environment=$2) AND d.registered_at>'epoch'
      """, topic, environment, token
    ) { (DeviceID($0.integer(0)), CredentialID($0.integer(1)), $0.bool(2)) }
  }

  /// Deletes a device and its subscriptions.
  func remove(
    _ device: (id: DeviceID, credential: CredentialID, isRetired: Bool)
  ) throws(StoreError) {
    let interests = try interests(of: [device.id])
    try unsubscribe(interests)
    try forgetPending(of: device.id)
    try run("DELETE FROM beams_device WHERE device_id=$1", device.id)
    try run("DELETE FROM device WHERE device_id=$1", device.id)
    if !device.isRetired { countDevices(of: device.credential, by: -1) }
  }
}
