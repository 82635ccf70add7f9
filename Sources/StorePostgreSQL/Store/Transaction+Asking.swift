import PushCore

/// What apps ask for by themselves: interests, and the user that a signed token proves.
extension Transaction {
  /// Changes the interests of a device; protected ones wait until they are granted.
  func change(_ change: InterestChange, of device: NamedDevice) throws(StoreError) -> InterestChangeResult {
    switch change {
    case .remove(let name):
      guard let interest = try interestID(of: device.app, name) else { return .done }
      try drop(interest, of: device.id)
    case .add(let asked):
      let present = try askedFor(device.id)
      let wanted = try interestIDs(of: device.app, asked)
      guard present.union(wanted.keys).count <= BeamsDeviceID.interestsOfDevice else { return .tooMany }
      try add(wanted, to: device)
    case .replace(let asked):
      let wanted = try interestIDs(of: device.app, asked)
      guard wanted.count <= BeamsDeviceID.interestsOfDevice else { return .tooMany }
      for interest in try askedFor(device.id).subtracting(wanted.keys) { try drop(interest, of: device.id) }
      try add(wanted, to: device)
    }
    return .done
  }

  /// Binds a device to a user who was proved by a signed token.
  func bind(_ device: NamedDevice, to user: String) throws(StoreError) -> UserBindingResult {
    let isSame = DeviceOwner(user: device.user, isVerified: device.userIsVerified).isSame(user)
    if !isSame, device.user != nil, device.userIsVerified { return .otherUser }
    if !isSame || !device.userIsVerified {
      guard try deviceCount(of: user, besides: device.id) < BeamsDeviceID.devicesOfUser else { return .tooManyDevices }
      if !isSame, device.user != nil {
        // Somebody else was only said to have it: what it subscribed to was theirs.
        for interest in try askedFor(device.id) { try drop(interest, of: device.id) }
      }
      try run("UPDATE device SET user_id=$2, user_verified=true WHERE device_id=$1", device.id, user)
    }
    try grantOwnInterest(of: user, to: device)
    return .bound
  }

  /// Forgets that a device asked for a protected interest; nil = for any.
  func forgetPending(of device: DeviceID, _ interest: InterestID? = nil) throws(StoreError) {
    try run(
      "DELETE FROM subscription_pending WHERE device_id=$1 AND ($2::bigint IS NULL OR interest_id=$2)", device, interest
    )
  }

  // MARK: Interests

  /// All interests that a device has or waits for.
  private func askedFor(_ device: DeviceID) throws(StoreError) -> Set<InterestID> {
    Set(
      try all(
        """
        SELECT interest_id FROM subscription WHERE device_id=$1
        UNION SELECT interest_id FROM subscription_pending WHERE device_id=$1
        """, device
      ) { InterestID($0.integer(0)) })
  }

  /// The ids of names, each with whether it is protected.
  private func interestIDs(of app: AppID, _ asked: AskedInterests) throws(StoreError) -> [InterestID: Bool] {
    var ids: [InterestID: Bool] = [:]
    for made in try makeInterests(of: app, asked.open).values { ids[made.id] = false }
    for made in try makeInterests(of: app, asked.protected).values { ids[made.id] = true }
    return ids
  }

  private func add(_ wanted: [InterestID: Bool], to device: NamedDevice) throws(StoreError) {
    for (interest, isProtected) in wanted.sorted(by: { $0.key < $1.key }) {
      let isGranted = isProtected ? try owns(device, interest) : true
      if isGranted {
        try grant(interest, to: device.id)
      } else {
        try run(
          """
          INSERT INTO subscription_pending(device_id,interest_id) SELECT $1::bigint,$2::bigint
          WHERE NOT EXISTS(SELECT 1 FROM subscription WHERE interest_id=$2 AND device_id=$1) ON CONFLICT DO NOTHING
          """, device.id, interest)
      }
    }
  }

  /// Whether the interest belongs to the user that was proved for the device.
  private func owns(_ device: NamedDevice, _ interest: InterestID) throws(StoreError) -> Bool {
    guard device.userIsVerified else { return false }
    return try first("SELECT 1 FROM interest WHERE interest_id=$1 AND owner_user=$2", interest, device.user) { _ in
      true
    } ?? false
  }

  private func grant(_ interest: InterestID, to device: DeviceID) throws(StoreError) {
    try subscribe([(device: device, interest: interest)])
    try forgetPending(of: device, interest)
  }

  private func drop(_ interest: InterestID, of device: DeviceID) throws(StoreError) {
    try unsubscribe([(device: device, interest: interest)])
    try forgetPending(of: device, interest)
  }

  // MARK: User

  private func deviceCount(of user: String, besides device: DeviceID) throws(StoreError) -> Int {
    try first(
      """
      SELECT count(*) FROM device
      WHERE user_id=$1 AND user_verified AND device_id<>$2 AND retired_at IS NULL
      """, user, device
    ) { $0.count(0) } ?? 0
  }

  private func grantOwnInterest(of user: String, to device: NamedDevice) throws(StoreError) {
    guard let name = OwnInterest.name(of: user) else { return }
    guard let interest = try makeInterests(of: device.app, [name]).values.first?.id else { return }
    try run("UPDATE interest SET owner_user=$2 WHERE interest_id=$1 AND owner_user IS NULL", interest, user)
    let isWaiting = try first(
      """
      SELECT 1 FROM subscription_pending p JOIN interest i ON i.interest_id=p.interest_id
      WHERE p.device_id=$1 AND p.interest_id=$2 AND i.owner_user=$3
      """, device.id, interest, user
    ) { _ in true }
    if isWaiting == true { try grant(interest, to: device.id) }
  }
}
