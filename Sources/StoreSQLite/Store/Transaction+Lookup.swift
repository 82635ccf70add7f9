import PushCore

/// Names to ids: what several calls look up.
extension Transaction {
  /// The app of a topic.
  func appID(of topic: String) throws(StoreError) -> AppID? {
    try first("SELECT app_id FROM app WHERE topic=?1", topic) { AppID($0.integer(0)) }
  }

  /// The app of a topic, which must exist.
  func knownAppID(of topic: String) throws(StoreError) -> AppID {
    if let app = try appID(of: topic) { return app }
    throw unknownTopic(topic)
  }

  /// The error of a topic that no app has.
  func unknownTopic(_ topic: String) -> StoreError {
    StoreError(
      code: .unknownTopic, operation: connection.name, underlying: "no app has the topic \(topic)",
      remedy: "Add the app to the configuration, or correct the topic.")
  }

  /// The credential of an app and environment; made when there is none: a worker that can sign for it may come.
  func credentialID(of app: AppID, _ environment: Environment) throws(StoreError) -> CredentialID {
    let present = try first(
      "SELECT credential_id FROM credential WHERE app_id=?1 AND environment=?2", app, environment
    ) { CredentialID($0.integer(0)) }
    if let present { return present }
    let made = try first(
      "INSERT INTO credential(app_id,environment,signer_seen_at) VALUES(?1,?2,?3) RETURNING credential_id",
      app, environment, now
    ) { CredentialID($0.integer(0)) }
    return made ?? CredentialID(0)
  }

  /// An interest of an app by name; nil when nobody has subscribed to it or published to it yet.
  func interestID(of app: AppID, _ name: String) throws(StoreError) -> InterestID? {
    try first("SELECT interest_id FROM interest WHERE app_id=?1 AND name=?2", app, name) { InterestID($0.integer(0)) }
  }

  /// The same, made when there is none.
  func makeInterestID(of app: AppID, _ name: String) throws(StoreError) -> InterestID {
    if let present = try interestID(of: app, name) { return present }
    let made = try first("INSERT INTO interest(app_id,name) VALUES(?1,?2) RETURNING interest_id", app, name) {
      InterestID($0.integer(0))
    }
    return made ?? InterestID(0)
  }

  /// The id of a new device with this token.
  func makeDeviceID(for token: DeviceToken) throws(StoreError) -> DeviceID {
    let sequence = try first("UPDATE meta SET value=value+1 WHERE key='device_seq' RETURNING value") { $0.integer(0) }
    return DeviceID(token: token, sequence: sequence ?? 0)
  }

  /// The lanes that have a task that is ready and due.
  func lanesWithDueWork() throws(StoreError) -> Set<Lane> {
    var lanes: Set<Lane> = []
    for lane in Lane.allCases {
      let found = try first("SELECT 1 FROM task WHERE state=0 AND lane=?1 AND due_at<=?2 LIMIT 1", lane, now) { _ in
        true
      }
      if found == true { lanes.insert(lane) }
    }
    return lanes
  }
}
