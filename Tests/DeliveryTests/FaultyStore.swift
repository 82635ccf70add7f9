import Operations
import PushCore

/// A real store whose calls a test can make fail: before they do anything, or after they have done it.
final class FaultyStore: Store {
  /// What becomes of a call of that name.
  enum Fault: Sendable {
    /// It throws, and nothing was done.
    case before(StoreError)
    /// It is done, and throws all the same: a commit whose answer is lost.
    case after(StoreError)
  }

  private let store: any Store
  private let faults = Lock<[String: Fault]>([:])
  private let counts = Lock<[String: Int]>([:])

  private let unreadable = Lock<Set<NotificationID>>([])

  private let valueless = Lock<Set<NotificationID>>([])

  private let hearsOfWork: Bool

  /// - Parameter hearsOfWork: false = every wake-up is lost.
  init(_ store: any Store, hearsOfWork: Bool = true) {
    self.store = store
    self.hearsOfWork = hearsOfWork
  }

  /// Makes the row of a notification one that cannot be read.
  func damage(_ id: NotificationID) { unreadable.withLock { _ = $0.insert(id) } }

  /// Makes the values of a notification's recipients disappear.
  func loseValues(_ id: NotificationID) { valueless.withLock { _ = $0.insert(id) } }

  static let busy = StoreError(
    code: .temporary, operation: "write", underlying: "database is locked", remedy: "Try again")

  /// Makes calls fail from now on; nil = they work again.
  func fail(_ calls: [String], _ fault: Fault?) {
    faults.withLock { faults in for call in calls { faults[call] = fault } }
  }

  /// How often a call was made.
  func calls(_ name: String) -> Int { counts.withLock { $0[name] ?? 0 } }

  private func call<Value: Sendable>(
    _ name: String, _ body: () async throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    counts.withLock { $0[name, default: 0] += 1 }
    let fault = faults.withLock { $0[name] }
    if case .before(let error) = fault { throw error }
    let value = try await body()
    if case .after(let error) = fault { throw error }
    return value
  }

  func bind(_ apps: [AppBinding]) async throws(StoreError) -> [Credential] { try await store.bind(apps) }
  func credentials() async throws(StoreError) -> [Credential] {
    try await call("credentials") { () throws(StoreError) in try await store.credentials() }
  }
  func register(_ registrations: [DeviceRegistration]) async throws(StoreError) -> [RegistrationResult] {
    try await store.register(registrations)
  }
  func removeDevice(
    topic: String, environment: Environment?, token: DeviceToken
  ) async throws(StoreError) -> Bool {
    try await store.removeDevice(topic: topic, environment: environment, token: token)
  }
  func devices(_ query: DeviceQuery, after: DeviceID, limit: Int) async throws(StoreError) -> [Device] {
    try await store.devices(query, after: after, limit: limit)
  }
  func setSubscription(
    topic: String, environment: Environment?, token: DeviceToken, interest: String, subscribed: Bool
  ) async throws(StoreError) -> Bool {
    try await store.setSubscription(
      topic: topic, environment: environment, token: token, interest: interest, subscribed: subscribed)
  }
  func publish(_ publication: Publication) async throws(StoreError) -> PublishResult {
    try await store.publish(publication)
  }
  func onNewWork(_ handler: @escaping @Sendable (Lane) -> Void) async {
    if hearsOfWork { await store.onNewWork(handler) }
  }
  func claim(_ request: ClaimRequest) async throws(StoreError) -> [LeasedTask] {
    try await call("claim") { () throws(StoreError) in try await store.claim(request) }
  }
  func claimExpired(owner: Int64, lease: Duration, limit: Int) async throws(StoreError) -> [LeasedTask] {
    try await call("claimExpired") { () throws(StoreError) in
      try await store.claimExpired(owner: owner, lease: lease, limit: limit)
    }
  }
  func reap(except live: [TaskID]) async throws(StoreError) -> [ReapedTask] {
    try await call("reap") { () throws(StoreError) in try await store.reap(except: live) }
  }
  func notifications(_ ids: [NotificationID]) async throws(StoreError) -> [NotificationID: StoredNotification] {
    let damaged = unreadable.withLock { $0 }
    var found = try await call("notifications") { () throws(StoreError) in
      try await store.notifications(ids.filter { !damaged.contains($0) })
    }
    for id in valueless.withLock({ $0 }) { found[id]?.substitutions = nil }
    return found
  }
  func settledDevices(of task: LeasedTask, rowReceipts: Bool) async throws(StoreError) -> [DeviceID] {
    try await store.settledDevices(of: task, rowReceipts: rowReceipts)
  }
  func read(_ reads: [DeviceRead]) async throws(StoreError) -> [DeviceWindow] {
    try await call("read") { () throws(StoreError) in try await store.read(reads) }
  }
  func entries(_ reads: [RecipientRead]) async throws(StoreError) -> [[Int?]] {
    try await call("entries") { () throws(StoreError) in try await store.entries(reads) }
  }
  func flush(
    _ flushes: [TaskFlush], retirements: [Retirement], owner: Int64, lease: Duration
  ) async throws(StoreError) -> [LeaseState] {
    try await call("flush") { () throws(StoreError) in
      try await store.flush(flushes, retirements: retirements, owner: owner, lease: lease)
    }
  }
  func renew(
    _ leases: [LeaseReference], owner: Int64, lease: Duration
  ) async throws(StoreError) -> [LeaseState] {
    try await call("renew") { () throws(StoreError) in try await store.renew(leases, owner: owner, lease: lease) }
  }
  func release(_ lease: LeaseReference, to: ReleaseTo, owner: Int64) async throws(StoreError) -> Bool {
    try await call("release") { () throws(StoreError) in try await store.release(lease, to: to, owner: owner) }
  }
  func split(
    _ lease: LeaseReference, into ranges: [(lo: DeviceID, hi: DeviceID)], lane: Lane, owner: Int64
  ) async throws(StoreError) -> Bool {
    try await store.split(lease, into: ranges, lane: lane, owner: owner)
  }
  func reasonID(for text: String) async throws(StoreError) -> ReasonID {
    try await call("reasonID") { () throws(StoreError) in try await store.reasonID(for: text) }
  }
  func hold(_ credentials: [CredentialID], reason: String) async throws(StoreError) {
    try await call("hold") { () throws(StoreError) in try await store.hold(credentials, reason: reason) }
  }
  func resume(_ credentials: [CredentialID]) async throws(StoreError) { try await store.resume(credentials) }
  func signerSeen(_ credentials: [CredentialID]) async throws(StoreError) {
    try await store.signerSeen(credentials)
  }
  func note(trouble: String?, of credentials: [CredentialID]) async throws(StoreError) {
    try await call("note") { () throws(StoreError) in try await store.note(trouble: trouble, of: credentials) }
  }
  func sweep() async throws(StoreError) {
    try await call("sweep") { () throws(StoreError) in try await store.sweep() }
  }
  func cancel(_ id: NotificationID) async throws(StoreError) -> Bool? { try await store.cancel(id) }
  func unpark(_ id: NotificationID) async throws(StoreError) -> Int { try await store.unpark(id) }
  func status(_ id: NotificationID) async throws(StoreError) -> NotificationStatus? { try await store.status(id) }
  func receipts(
    _ id: NotificationID, outcome: Outcome?, attempts: AttemptChoice, after: DeviceID, limit: Int
  ) async throws(StoreError) -> ReceiptPage {
    try await store.receipts(id, outcome: outcome, attempts: attempts, after: after, limit: limit)
  }
  func removeOld(payloadsAfter: Duration, receiptsAfter: Duration) async throws(StoreError) -> Bool {
    try await store.removeOld(payloadsAfter: payloadsAfter, receiptsAfter: receiptsAfter)
  }
  func close() async { await store.close() }
  func providerToken(
    of key: ProviderKeyIdentity,
    decide: @escaping @Sendable (ProviderTokenRecord?) throws(StoreError) -> ProviderTokenRecord
  ) async throws(StoreError) -> ProviderTokenRecord {
    try await store.providerToken(of: key, decide: decide)
  }
}
