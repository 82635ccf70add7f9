import PushCore

extension SQLiteStore {
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
      var results: [RegistrationResult] = []
      results.reserveCapacity(registrations.count)
      for registration in registrations { results.append(try transaction.register(registration)) }
      return results
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
        if subscribed {
          try transaction.subscribe(device.id, to: try transaction.makeInterestID(of: app, interest))
        } else if let interest = try transaction.interestID(of: app, interest) {
          try transaction.unsubscribe(device.id, from: interest)
        }
      }
      return true
    }
  }
}

/// A device row as registration needs it.
private struct StoredDevice {
  var id: DeviceID
  var credential: CredentialID
  var user: String?
  var userIsVerified: Bool
  var language: String?
  var isRegistered: Bool
  var isRetired: Bool
}

extension Transaction {
  fileprivate func bind(_ app: AppBinding) throws(StoreError) {
    try run("INSERT INTO app(topic,created_at) VALUES(?1,?2) ON CONFLICT(topic) DO NOTHING", app.topic, now)
    let credential = try credentialID(of: try knownAppID(of: app.topic), app.environment)
    try run(
      """
      UPDATE credential SET team_id=?2, key_id=?3
      WHERE credential_id=?1 AND (team_id IS NOT ?2 OR key_id IS NOT ?3)
      """, credential, app.teamID, app.keyID)
  }

  fileprivate func credentials(ofTopics topics: Set<String>?) throws(StoreError) -> [Credential] {
    let all = try all(
      """
      SELECT c.credential_id, c.app_id, a.topic, c.environment, c.team_id, c.key_id, c.held_since, c.held_reason
      FROM credential c JOIN app a ON a.app_id=c.app_id ORDER BY c.credential_id
      """
    ) { (row) throws(StoreError) in
      guard let environment = Environment(rawValue: UInt8(truncatingIfNeeded: row.integer(3))) else {
        throw .unreadable("credential \(row.integer(0))")
      }
      return Credential(
        id: CredentialID(row.integer(0)), appID: AppID(row.integer(1)), topic: row.text(2), environment: environment,
        teamID: row.optional(4, Row.text), keyID: row.optional(5, Row.text),
        heldSince: row.optional(6, Row.integer).map { .init($0) }, heldReason: row.optional(7, Row.text))
    }
    guard let topics else { return all }
    return all.filter { topics.contains($0.topic) }
  }

  // MARK: Registration

  fileprivate func register(_ registration: DeviceRegistration) throws(StoreError) -> RegistrationResult {
    let app = try knownAppID(of: registration.topic)
    let credential = try credentialID(of: app, registration.environment)
    guard var device = try storedDevice(credential, registration.token) else {
      let id = try add(registration, credential)
      if case .set(let names) = registration.interests { try setInterests(of: id, app, to: names) }
      return .added(id)
    }
    let wasRegistered = device.isRegistered
    let hasNewUser = apply(registration, to: &device)
    try refresh(device)
    if case .set(let names) = registration.interests {
      try setInterests(of: device.id, app, to: names)
    } else if hasNewUser {
      // The phone changed hands: what the former user subscribed to is not the new user's.
      try setInterests(of: device.id, app, to: [])
    }
    return wasRegistered ? .refreshed(device.id) : .added(device.id)
  }

  private func storedDevice(_ credential: CredentialID, _ token: DeviceToken) throws(StoreError) -> StoredDevice? {
    try first(
      """
      SELECT device_id, user_id, user_verified, language, registered_at, retired_at IS NOT NULL FROM device
      WHERE credential_id=?1 AND token=?2
      """, credential, token
    ) { row in
      StoredDevice(
        id: DeviceID(row.integer(0)), credential: credential, user: row.optional(1, Row.text),
        userIsVerified: row.bool(2), language: row.optional(3, Row.text), isRegistered: row.integer(4) > 0,
        isRetired: row.bool(5))
    }
  }

  private func add(_ registration: DeviceRegistration, _ credential: CredentialID) throws(StoreError) -> DeviceID {
    let id = try makeDeviceID(for: registration.token)
    var user: String?
    if case .set(let given) = registration.user { user = given }
    var language: String?
    if case .set(let given) = registration.language { language = given }
    try run(
      """
      INSERT INTO device(device_id,credential_id,token,user_id,user_verified,language,registered_at)
      VALUES(?1,?2,?3,?4,?5,?6,?7)
      """, id, credential, registration.token, user, user != nil && registration.userIsVerified, language, now)
    try countDevices(of: credential, by: 1)
    return id
  }

  /// Changes what the registration says; true when another user takes over from a former one.
  private func apply(_ registration: DeviceRegistration, to device: inout StoredDevice) -> Bool {
    if case .set(let language) = registration.language { device.language = language }
    guard case .set(let user) = registration.user else { return false }
    // Saying again, unproved, who was proved before takes nothing away.
    let wasSame = user == device.user
    let hasNewUser = !wasSame && device.user != nil
    device.userIsVerified = user != nil && (registration.userIsVerified || wasSame && device.userIsVerified)
    device.user = user
    return hasNewUser
  }

  private func refresh(_ device: StoredDevice) throws(StoreError) {
    try run(
      """
      UPDATE device SET user_id=?2, user_verified=?3, language=?4, registered_at=?5, retired_at=NULL, retired_reason=NULL
      WHERE device_id=?1
      """, device.id, device.user, device.userIsVerified, device.language, now)
    if !device.isRegistered || device.isRetired { try countDevices(of: device.credential, by: 1) }
  }

  // MARK: Subscriptions

  private func setInterests(of device: DeviceID, _ app: AppID, to names: [String]) throws(StoreError) {
    var wanted: Set<InterestID> = []
    for name in names { wanted.insert(try makeInterestID(of: app, name)) }
    let present = Set(
      try all("SELECT interest_id FROM subscription WHERE device_id=?1", device) { InterestID($0.integer(0)) })
    for interest in present.subtracting(wanted) { try unsubscribe(device, from: interest) }
    for interest in wanted.subtracting(present).sorted() { try subscribe(device, to: interest) }
  }

  fileprivate func subscribe(_ device: DeviceID, to interest: InterestID) throws(StoreError) {
    let added = try run(
      "INSERT INTO subscription(interest_id,device_id) VALUES(?1,?2) ON CONFLICT DO NOTHING", interest, device)
    if added > 0 { try countSubscribers(of: interest, by: 1) }
  }

  fileprivate func unsubscribe(_ device: DeviceID, from interest: InterestID) throws(StoreError) {
    let removed = try run("DELETE FROM subscription WHERE interest_id=?1 AND device_id=?2", interest, device)
    if removed > 0 { try countSubscribers(of: interest, by: -1) }
  }

  private func countSubscribers(of interest: InterestID, by delta: Int) throws(StoreError) {
    try run("UPDATE interest SET approx_size=max(approx_size+?2,0) WHERE interest_id=?1", interest, delta)
  }

  func countDevices(of credential: CredentialID, by delta: Int) throws(StoreError) {
    try run("UPDATE credential SET approx_devices=max(approx_devices+?2,0) WHERE credential_id=?1", credential, delta)
  }

  // MARK: Removal

  fileprivate func registeredDevices(
    topic: String, environment: Environment?, token: DeviceToken
  ) throws(StoreError) -> [(id: DeviceID, credential: CredentialID, isRetired: Bool)] {
    try all(
      """
      SELECT d.device_id, d.credential_id, d.retired_at IS NOT NULL
      FROM app a JOIN credential c ON c.app_id=a.app_id JOIN device d ON d.credential_id=c.credential_id AND d.token=?3
      WHERE a.topic=?1 AND (?2 IS NULL OR c.environment=?2) AND d.registered_at>0
      """, topic, environment, token
    ) { (DeviceID($0.integer(0)), CredentialID($0.integer(1)), $0.bool(2)) }
  }

  fileprivate func remove(
    _ device: (id: DeviceID, credential: CredentialID, isRetired: Bool)
  ) throws(StoreError) {
    for interest in try all(
      "SELECT interest_id FROM subscription WHERE device_id=?1", device.id, read: { $0.integer(0) })
    {
      try unsubscribe(device.id, from: InterestID(interest))
    }
    try run("DELETE FROM device WHERE device_id=?1", device.id)
    if !device.isRetired { try countDevices(of: device.credential, by: -1) }
  }
}
