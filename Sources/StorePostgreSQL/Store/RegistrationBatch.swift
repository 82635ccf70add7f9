import PushCore

/// The registrations of one call, in statements for all of them: what they have in common is looked up once.
struct RegistrationBatch {
  private struct AppEnvironment: Hashable {
    var topic: ExactText
    var environment: Environment
  }

  /// Where a device of a token stands.
  private struct Place: Hashable {
    var credential: CredentialID
    var token: DeviceToken
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

  /// What is to be written of one registration.
  private struct Change {
    var index: Int
    var app: AppID
    var device: StoredDevice
    /// The interests it has afterwards; nil = those it has.
    var interests: [String]?
    /// Whether another user takes over from a former one.
    var hasNewUser: Bool
  }

  private let transaction: Transaction
  private var credentials: [AppEnvironment: (app: AppID, credential: CredentialID)] = [:]

  init(_ transaction: Transaction) { self.transaction = transaction }

  /// Registers or refreshes devices, in order.
  mutating func register(_ registrations: [DeviceRegistration]) throws(StoreError) -> [RegistrationResult] {
    var places: [(app: AppID, place: Place)] = []
    for registration in registrations {
      let (app, own) = try credential(of: registration)
      let credential = try settle(registration, app, own)
      places.append((app, Place(credential: credential, token: registration.token)))
    }
    var results: [Int: RegistrationResult] = [:]
    // Statements for many need each device once: what names one again follows in another round.
    var rest = Array(registrations.indices)
    while !rest.isEmpty {
      var seen: Set<Place> = []
      let round = rest.filter { seen.insert(places[$0].place).inserted }
      rest.removeAll { Set(round).contains($0) }
      try register(round.map { ($0, registrations[$0], places[$0].app, places[$0].place) }, &results)
    }
    return registrations.indices.compactMap { results[$0] }
  }

  private mutating func credential(
    of registration: DeviceRegistration
  ) throws(StoreError) -> (app: AppID, credential: CredentialID) {
    let key = AppEnvironment(topic: ExactText(registration.topic), environment: registration.environment)
    if let known = credentials[key] { return known }
    let app = try transaction.knownAppID(of: registration.topic)
    let found = (app: app, credential: try transaction.credentialID(of: app, registration.environment))
    credentials[key] = found
    return found
  }

  private func register(
    _ round: [(index: Int, registration: DeviceRegistration, app: AppID, place: Place)],
    _ results: inout [Int: RegistrationResult]
  ) throws(StoreError) {
    let stored = try storedDevices(round.map(\.place))
    var changes: [Change] = []
    for (index, registration, app, place) in round {
      guard let present = stored[place] else { continue }
      var device = present
      let hasNewUser = apply(registration, to: &device)
      var interests: [String]?
      if case .set(let names) = registration.interests {
        interests = names
      } else if hasNewUser {
        // The phone changed hands: what the former user subscribed to is not the new user's.
        interests = []
      }
      changes.append(Change(index: index, app: app, device: device, interests: interests, hasNewUser: hasNewUser))
      results[index] = device.isRegistered ? .refreshed(device.id) : .added(device.id)
    }
    try refresh(changes.map(\.device))
    for change in changes where change.hasNewUser { try transaction.forgetPending(of: change.device.id) }
    try setInterests(changes)
  }

  // MARK: Devices

  /// Where the device is registered: in its environment, unless the same token in the other one says otherwise.
  private func settle(
    _ registration: DeviceRegistration, _ app: AppID, _ own: CredentialID
  ) throws(StoreError) -> CredentialID {
    guard registration.otherEnvironment != .isApart else { return own }
    let there = try transaction.first(
      """
      SELECT d.device_id, d.credential_id, d.retired_at IS NOT NULL
      FROM credential c JOIN device d ON d.credential_id=c.credential_id AND d.token=$2
      WHERE c.app_id=$1 AND c.credential_id<>$3 AND d.registered_at>'epoch' FOR NO KEY UPDATE OF d
      """, app, registration.token, own
    ) { (id: DeviceID($0.integer(0)), credential: CredentialID($0.integer(1)), isRetired: $0.bool(2)) }
    guard let there else { return own }
    let isHere = try lockedDevices([Place(credential: own, token: registration.token)]).values.contains(
      where: \.isRegistered)
    if registration.otherEnvironment == .staysThere { return isHere ? own : there.credential }
    guard !isHere else {
      try transaction.remove(there)
      return own
    }
    // A row that a push only named makes room.
    try transaction.run("DELETE FROM device WHERE credential_id=$1 AND token=$2", own, registration.token)
    try transaction.run("UPDATE device SET credential_id=$2 WHERE device_id=$1", there.id, own)
    if !there.isRetired {
      transaction.countDevices(of: there.credential, by: -1)
      transaction.countDevices(of: own, by: 1)
    }
    return own
  }

  /// The devices of these places, made where there are none, and locked: no other registration changes them before the commit.
  private func storedDevices(_ places: [Place]) throws(StoreError) -> [Place: StoredDevice] {
    var stored = try lockedDevices(places)
    let missing = places.filter { stored[$0] == nil }
    guard !missing.isEmpty else { return stored }
    for (credential, group) in Dictionary(grouping: missing, by: \.credential) {
      // In one order, so that two transactions that make the same devices do not wait in a circle.
      let tokens = group.map(\.token).sorted { $0.text < $1.text }
      // Not registered before the refresh that follows in this transaction.
      try transaction.makeDevices(of: credential, tokens)
    }
    stored.merge(try lockedDevices(missing)) { _, new in new }
    return stored
  }

  /// Each place is looked up by itself: before the first ANALYZE the planner would rather read all devices of a credential.
  private func lockedDevices(_ places: [Place]) throws(StoreError) -> [Place: StoredDevice] {
    var found: [Place: StoredDevice] = [:]
    try transaction.rows(
      """
      SELECT d.device_id, d.credential_id, d.token, d.user_id, d.user_verified, d.language, d.registered_at>'epoch',
        d.retired_at IS NOT NULL
      FROM device d WHERE d.device_id=ANY(ARRAY(
        SELECT (SELECT x.device_id FROM device x WHERE x.credential_id=u.credential AND x.token=u.token)
        FROM unnest($1,$2) u(credential,token)))
      ORDER BY d.device_id FOR NO KEY UPDATE
      """, places.map(\.credential), places.map(\.token)
    ) { (row) throws(StoreError) in
      let device = StoredDevice(
        id: DeviceID(row.integer(0)), credential: CredentialID(row.integer(1)),
        owner: DeviceOwner(user: row.optional(3, Row.text), isVerified: row.bool(4)),
        language: row.optional(5, Row.text), isRegistered: row.bool(6),
        isRetired: row.bool(7))
      found[Place(credential: device.credential, token: DeviceToken(stored: row.text(2)))] = device
    }
    return found
  }

  /// Changes what the registration says; true when another user takes over from a former one.
  private func apply(_ registration: DeviceRegistration, to device: inout StoredDevice) -> Bool {
    if case .set(let language) = registration.language { device.language = language }
    return device.owner.apply(registration)
  }

  private func refresh(_ devices: [StoredDevice]) throws(StoreError) {
    try transaction.run(
      """
      UPDATE device SET user_id=u.user_id, user_verified=u.verified, language=u.language, registered_at=$1,
        retired_at=NULL, retired_reason=NULL
      FROM unnest($2,$3,$4,$5) u(id,user_id,verified,language) WHERE device_id=u.id AND device_id=ANY($2)
      """, transaction.now, devices.map(\.id), devices.map(\.owner.user), devices.map(\.owner.isVerified),
      devices.map(\.language))
    for device in devices where !device.isRegistered || device.isRetired {
      transaction.countDevices(of: device.credential, by: 1)
    }
  }

  // MARK: Subscriptions

  private func setInterests(_ changes: [Change]) throws(StoreError) {
    let changes = changes.filter { $0.interests != nil }
    guard !changes.isEmpty else { return }
    var wanted: Set<Subscription> = []
    for (app, group) in Dictionary(grouping: changes, by: \.app).sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let ids = try transaction.makeInterests(of: app, group.flatMap { $0.interests ?? [] })
      for change in group {
        for name in change.interests ?? [] {
          guard let interest = ids[ExactText(name)] else { continue }
          wanted.insert(Subscription(device: change.device.id, interest: interest.id))
        }
      }
    }
    let present = Set(
      try transaction.interests(of: changes.map(\.device.id)).map {
        Subscription(device: $0.device, interest: $0.interest)
      })
    try transaction.unsubscribe(present.subtracting(wanted).map { ($0.device, $0.interest) })
    try transaction.subscribe(wanted.subtracting(present).map { ($0.device, $0.interest) })
    try transaction.run(
      """
      DELETE FROM subscription_pending p USING unnest($1,$2) u(device,interest)
      WHERE p.device_id=u.device AND p.interest_id=u.interest AND p.device_id=ANY($1)
      """, wanted.map(\.device), wanted.map(\.interest))
  }

  private struct Subscription: Hashable {
    var device: DeviceID
    var interest: InterestID
  }
}

extension Transaction {
  /// The subscriptions of devices.
  func interests(of devices: [DeviceID]) throws(StoreError) -> [(device: DeviceID, interest: InterestID)] {
    try all("SELECT device_id, interest_id FROM subscription WHERE device_id=ANY($1)", devices) {
      (DeviceID($0.integer(0)), InterestID($0.integer(1)))
    }
  }

  /// Subscribes devices, and counts those that were not subscribed.
  func subscribe(_ pairs: [(device: DeviceID, interest: InterestID)]) throws(StoreError) {
    guard !pairs.isEmpty else { return }
    let made = try all(
      """
      INSERT INTO subscription(interest_id,device_id)
      SELECT u.interest, u.device FROM unnest($1,$2) u(interest,device) ORDER BY 1,2 ON CONFLICT DO NOTHING
      RETURNING interest_id
      """, pairs.map(\.interest), pairs.map(\.device)
    ) { InterestID($0.integer(0)) }
    for interest in made { countSubscribers(of: interest, by: 1) }
  }

  /// Unsubscribes devices, and counts those that were subscribed.
  func unsubscribe(_ pairs: [(device: DeviceID, interest: InterestID)]) throws(StoreError) {
    guard !pairs.isEmpty else { return }
    let gone = try all(
      """
      DELETE FROM subscription s USING unnest($1,$2) u(interest,device)
      WHERE s.interest_id=u.interest AND s.device_id=u.device AND s.interest_id=ANY($1) AND s.device_id=ANY($2)
      RETURNING s.interest_id
      """, pairs.map(\.interest), pairs.map(\.device)
    ) { InterestID($0.integer(0)) }
    for interest in gone { countSubscribers(of: interest, by: -1) }
  }
}
