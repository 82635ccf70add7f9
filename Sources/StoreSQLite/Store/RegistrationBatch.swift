import PushCore

/// The registrations of one call: what they have in common is looked up once, and counts are written at the end.
struct RegistrationBatch {
  private struct AppEnvironment: Hashable {
    var topic: String
    var environment: Environment
  }

  private struct AppInterest: Hashable {
    var app: AppID
    var name: String
  }

  /// A device row as registration needs it.
  private struct StoredDevice {
    var id: DeviceID
    var credential: CredentialID
    var owner = DeviceOwner(user: nil, isVerified: false)
    var language: String?
    var isRegistered = false
    var isRetired = false
  }

  private let transaction: Transaction
  private var credentials: [AppEnvironment: (app: AppID, credential: CredentialID)] = [:]
  private var interests: [AppInterest: InterestID] = [:]
  private var newDevices: [CredentialID: Int] = [:]
  private var newSubscribers: [InterestID: Int] = [:]

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Registers or refreshes one device.
  mutating func register(_ registration: DeviceRegistration) throws(StoreError) -> RegistrationResult {
    let (app, own) = try credential(of: registration)
    let credential = try settle(registration, app, own)
    guard var device = try storedDevice(credential, registration.token) else {
      let id = try add(registration, credential)
      if case .set(let names) = registration.interests {
        for interest in try interestIDs(app, names) { try subscribe(id, to: interest) }
      }
      return .added(id)
    }
    let hasNewUser = apply(registration, to: &device)
    try refresh(device)
    if case .set(let names) = registration.interests {
      try setInterests(of: device.id, to: try interestIDs(app, names))
    } else if hasNewUser {
      // The phone changed hands: what the former user subscribed to is not the new user's.
      try setInterests(of: device.id, to: [])
    }
    if hasNewUser { try transaction.forgetPending(of: device.id) }
    return device.isRegistered ? .refreshed(device.id) : .added(device.id)
  }

  /// Writes the counts.
  func finish() throws(StoreError) {
    for (credential, count) in newDevices { try transaction.countDevices(of: credential, by: count) }
    for (interest, count) in newSubscribers where count != 0 {
      try transaction.countSubscribers(of: interest, by: count)
    }
  }

  // MARK: Common to many

  private mutating func credential(
    of registration: DeviceRegistration
  ) throws(StoreError) -> (app: AppID, credential: CredentialID) {
    let key = AppEnvironment(topic: registration.topic, environment: registration.environment)
    if let known = credentials[key] { return known }
    let app = try transaction.knownAppID(of: registration.topic)
    let found = (app: app, credential: try transaction.credentialID(of: app, registration.environment))
    credentials[key] = found
    return found
  }

  private mutating func interestIDs(_ app: AppID, _ names: [String]) throws(StoreError) -> Set<InterestID> {
    var ids: Set<InterestID> = []
    for name in names {
      let key = AppInterest(app: app, name: name)
      if let known = interests[key] {
        ids.insert(known)
        continue
      }
      let id = try transaction.makeInterestID(of: app, name)
      interests[key] = id
      ids.insert(id)
    }
    return ids
  }

  // MARK: Device

  /// Where the device is registered: in its environment, unless the same token in the other one says otherwise.
  private mutating func settle(
    _ registration: DeviceRegistration, _ app: AppID, _ own: CredentialID
  ) throws(StoreError) -> CredentialID {
    guard registration.otherEnvironment != .isApart else { return own }
    let there = try transaction.first(
      """
      SELECT d.device_id, d.credential_id, d.retired_at IS NOT NULL
      FROM credential c JOIN device d ON d.credential_id=c.credential_id AND d.token=?2
      WHERE c.app_id=?1 AND c.credential_id<>?3 AND d.registered_at>0
      """, app, registration.token, own
    ) { (id: DeviceID($0.integer(0)), credential: CredentialID($0.integer(1)), isRetired: $0.bool(2)) }
    guard let there else { return own }
    let isHere = try storedDevice(own, registration.token)?.isRegistered ?? false
    if registration.otherEnvironment == .staysThere { return isHere ? own : there.credential }
    guard !isHere else {
      try transaction.remove(there)
      return own
    }
    // A row that a push only named makes room.
    try transaction.run("DELETE FROM device WHERE credential_id=?1 AND token=?2", own, registration.token)
    try transaction.run("UPDATE device SET credential_id=?2 WHERE device_id=?1", there.id, own)
    if !there.isRetired {
      newDevices[there.credential, default: 0] -= 1
      newDevices[own, default: 0] += 1
    }
    return own
  }

  private func storedDevice(_ credential: CredentialID, _ token: DeviceToken) throws(StoreError) -> StoredDevice? {
    try transaction.first(
      """
      SELECT device_id, user_id, user_verified, language, registered_at, retired_at IS NOT NULL FROM device
      WHERE credential_id=?1 AND token=?2
      """, credential, token
    ) { row in
      StoredDevice(
        id: DeviceID(row.integer(0)), credential: credential,
        owner: DeviceOwner(user: row.optional(1, Row.text), isVerified: row.bool(2)),
        language: row.optional(3, Row.text), isRegistered: row.integer(4) > 0,
        isRetired: row.bool(5))
    }
  }

  private mutating func add(
    _ registration: DeviceRegistration, _ credential: CredentialID
  ) throws(StoreError) -> DeviceID {
    var device = StoredDevice(id: try transaction.makeDeviceID(for: registration.token), credential: credential)
    _ = apply(registration, to: &device)
    try transaction.run(
      """
      INSERT INTO device(device_id,credential_id,token,user_id,user_verified,language,registered_at)
      VALUES(?1,?2,?3,?4,?5,?6,?7)
      """, device.id, credential, registration.token, device.owner.user, device.owner.isVerified, device.language,
      transaction.now)
    newDevices[credential, default: 0] += 1
    return device.id
  }

  /// Changes what the registration says; true when another user takes over from a former one.
  private func apply(_ registration: DeviceRegistration, to device: inout StoredDevice) -> Bool {
    if case .set(let language) = registration.language { device.language = language }
    return device.owner.apply(registration)
  }

  private mutating func refresh(_ device: StoredDevice) throws(StoreError) {
    try transaction.run(
      """
      UPDATE device SET user_id=?2, user_verified=?3, language=?4, registered_at=?5, retired_at=NULL, retired_reason=NULL
      WHERE device_id=?1
      """, device.id, device.owner.user, device.owner.isVerified, device.language, transaction.now)
    if !device.isRegistered || device.isRetired { newDevices[device.credential, default: 0] += 1 }
  }

  // MARK: Subscriptions

  private mutating func setInterests(of device: DeviceID, to wanted: Set<InterestID>) throws(StoreError) {
    let present = Set(try transaction.interestIDs(of: device))
    for interest in present.subtracting(wanted) where try transaction.unsubscribe(device, from: interest) {
      newSubscribers[interest, default: 0] -= 1
    }
    for interest in wanted.subtracting(present) { try subscribe(device, to: interest) }
  }

  private mutating func subscribe(_ device: DeviceID, to interest: InterestID) throws(StoreError) {
    if try transaction.subscribe(device, to: interest) { newSubscribers[interest, default: 0] += 1 }
    try transaction.forgetPending(of: device, interest)
  }
}

extension Transaction {
  /// The interests of a device.
  func interestIDs(of device: DeviceID) throws(StoreError) -> [InterestID] {
    try all("SELECT interest_id FROM subscription WHERE device_id=?1", device) { InterestID($0.integer(0)) }
  }

  /// Subscribes; false when it was already.
  func subscribe(_ device: DeviceID, to interest: InterestID) throws(StoreError) -> Bool {
    try run("INSERT INTO subscription(interest_id,device_id) VALUES(?1,?2) ON CONFLICT DO NOTHING", interest, device)
      > 0
  }

  /// Unsubscribes; false when it was not subscribed.
  func unsubscribe(_ device: DeviceID, from interest: InterestID) throws(StoreError) -> Bool {
    try run("DELETE FROM subscription WHERE interest_id=?1 AND device_id=?2", interest, device) > 0
  }

  /// Adds to the hint at an interest's size.
  func countSubscribers(of interest: InterestID, by delta: Int) throws(StoreError) {
    try run("UPDATE interest SET approx_size=max(approx_size+?2,0) WHERE interest_id=?1", interest, delta)
  }

  /// Adds to the hint at a credential's devices.
  func countDevices(of credential: CredentialID, by delta: Int) throws(StoreError) {
    try run("UPDATE credential SET approx_devices=max(approx_devices+?2,0) WHERE credential_id=?1", credential, delta)
  }
}
