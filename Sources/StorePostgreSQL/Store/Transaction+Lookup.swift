import PushCore

/// Names to ids: what several calls look up.
extension Transaction {
  /// The app of a topic.
  func appID(of topic: String) throws(StoreError) -> AppID? {
    try first("SELECT app_id FROM app WHERE topic=$1", topic) { AppID($0.integer(0)) }
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
    if let present = try presentCredentialID(of: app, environment) { return present }
    try run(
      "INSERT INTO credential(app_id,environment,signer_seen_at) VALUES($1,$2,$3) ON CONFLICT DO NOTHING", app,
      environment, now)
    // Another transaction may have made it at the same time; then it is committed by now.
    return try presentCredentialID(of: app, environment) ?? CredentialID(0)
  }

  private func presentCredentialID(of app: AppID, _ environment: Environment) throws(StoreError) -> CredentialID? {
    try first("SELECT credential_id FROM credential WHERE app_id=$1 AND environment=$2", app, environment) {
      CredentialID($0.integer(0))
    }
  }

  /// An interest of an app by name; nil when nobody has subscribed to it or published to it yet.
  func interestID(of app: AppID, _ name: String) throws(StoreError) -> InterestID? {
    try first("SELECT interest_id FROM interest WHERE app_id=$1 AND name=$2", app, name) { InterestID($0.integer(0)) }
  }

  /// Interests of an app by their names, made where there are none, with the hints at their sizes.
  func makeInterests(
    of app: AppID, _ names: [String]
  ) throws(StoreError) -> [ExactText: (id: InterestID, expected: Int)] {
    // Byte by byte, as the database compares; in one order, so that two transactions that make the same ones do not wait in a circle.
    let names = Set(names.map(ExactText.init)).sorted().map(\.text)
    guard !names.isEmpty else { return [:] }
    let present = try interests(of: app, names)
    if present.count == names.count { return present }
    try run(
      """
      INSERT INTO interest(app_id,name) SELECT $1, u.name FROM unnest($2) u(name)
      WHERE (SELECT i.interest_id FROM interest i WHERE i.app_id=$1 AND i.name=u.name) IS NULL ON CONFLICT DO NOTHING
      """, app, names)
    return try interests(of: app, names)
  }

  private func interests(
    of app: AppID, _ names: [String]
  ) throws(StoreError) -> [ExactText: (id: InterestID, expected: Int)] {
    var found: [ExactText: (id: InterestID, expected: Int)] = [:]
    try rows(
      "SELECT name, interest_id, approx_size FROM interest WHERE app_id=$1 AND name=ANY($2)", app, names
    ) { (row) throws(StoreError) in found[ExactText(row.text(0))] = (InterestID(row.integer(1)), row.count(2)) }
    return found
  }
}

/// A text compared byte by byte, as the database does; as a String, é would be the same as e with U+0301.
struct ExactText: Hashable, Comparable {
  let text: String
  private let bytes: [UInt8]

  init(_ text: String) {
    self.text = text
    bytes = Array(text.utf8)
  }

  static func == (left: Self, right: Self) -> Bool { left.bytes == right.bytes }
  static func < (left: Self, right: Self) -> Bool { left.bytes.lexicographicallyPrecedes(right.bytes) }
  func hash(into hasher: inout Hasher) { hasher.combine(bytes) }
}
