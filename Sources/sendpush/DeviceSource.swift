import Operations
import PushCore

/// The credentials of an app as a command without a store sees them: one per environment.
struct Credentials {
  let all: [Credential]

  init(app: Configuration.App, topic: String) {
    all = Environment.allCases.map { environment in
      Credential(
        id: CredentialID(Int64(environment.rawValue) + 1), appID: AppID(1), topic: topic, environment: environment,
        teamID: app.teamID, keyID: app.keyID, heldSince: nil, heldReason: nil)
    }
  }

  func id(_ environment: Environment) -> CredentialID { CredentialID(Int64(environment.rawValue) + 1) }

  subscript(id: CredentialID) -> Credential? { all.first { $0.id == id } }

  func environment(of id: CredentialID) -> Environment? { self[id]?.environment }
}

/// The devices of a target: those named by their tokens, then those that the registry finds; each once.
struct DeviceSource {
  private let publication: Publication
  private let store: (any Store)?
  private let credentials: Credentials
  private var pending: [(environment: Environment, token: DeviceToken)]
  private var queries: [DeviceQuery]
  private var after = DeviceID(0)
  private var seen: Set<String>
  private var sequence: Int64 = 0

  init(publication: Publication, store: (any Store)?, credentials: Credentials) {
    self.publication = publication
    self.store = store
    self.credentials = credentials
    let environment = publication.environment ?? publication.defaultEnvironment
    pending = publication.target.tokens.map { (environment, $0) }
    seen = Set(publication.target.tokens.map { "\(environment.rawValue)\($0.text)" })
    var base = DeviceQuery()
    base.topic = publication.topic
    base.retired = false
    let target = publication.target
    queries = target.interests.map { interest in
      var query = base
      query.interest = interest
      return query
    }
    queries += target.users.map { user in
      var query = base
      query.user = user
      return query
    }
    if target.everyone { queries = [base] }
  }

  /// The next devices, of one environment; nil at the end.
  mutating func next() async throws -> (credential: CredentialID, devices: DeviceWindow)? {
    while pending.isEmpty, let query = queries.first, let store {
      let page = try await store.devices(query, after: after, limit: PushBatch.maximumCount)
      for device in page where isMeant(device, by: query) { pending.append((device.environment, device.token)) }
      if let last = page.last, page.count == PushBatch.maximumCount {
        after = last.id
      } else {
        queries.removeFirst()
        after = DeviceID(0)
      }
    }
    guard let environment = pending.first?.environment else { return nil }
    var devices = DeviceWindow()
    var rest: [(environment: Environment, token: DeviceToken)] = []
    for device in pending {
      if device.environment == environment, devices.count < PushBatch.maximumCount {
        sequence += 1
        devices.append(
          id: DeviceID(token: device.token, sequence: sequence), credential: credentials.id(environment),
          registeredAt: UnixMilliseconds(0), token: device.token.text.utf8)
      } else {
        rest.append(device)
      }
    }
    pending = rest
    return (credentials.id(environment), devices)
  }

  /// As in the queue: a user who was merely said is not reached.
  private mutating func isMeant(_ device: Device, by query: DeviceQuery) -> Bool {
    if query.user != nil, !device.userIsVerified, !publication.reachesUnverifiedUsers { return false }
    if let environment = publication.environment, environment != device.environment { return false }
    return seen.insert("\(device.environment.rawValue)\(device.token.text)").inserted
  }
}
