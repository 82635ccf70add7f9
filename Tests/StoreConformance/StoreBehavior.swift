import Operations
import PushCore
import Support

/// One behavior that every store must show: its name is a sentence, its body fails the running test when the store does not show it.
public struct StoreBehavior: Sendable, CustomStringConvertible {
  /// The sentence.
  public let name: String
  /// Checks it with a new, empty store.
  public let check: @Sendable (StoreFixture) async throws -> Void

  /// A behavior by its sentence and its check.
  public init(_ name: String, _ check: @escaping @Sendable (StoreFixture) async throws -> Void) {
    self.name = name
    self.check = check
  }

  /// The sentence.
  public var description: String { name }

  /// All behaviors that need no worker, in the order of a notification's life.
  public static let all: [StoreBehavior] =
    registry + listing + intake + idempotency + leases + owners + flushes + walks + recipients + pauses + cancellation
    + reading + overview + keys + selfService + webhooks + care
}

/// An empty store, the clocks it tells time by, and a way to open the same data again.
public struct StoreFixture: Sendable {
  /// The store.
  public let store: any FullStore
  /// The clocks of every store of this fixture.
  public let clocks: DrivenClocks
  /// Opens another store on the same data, as another process does.
  public let openAnother: @Sendable () async throws -> any FullStore

  /// A fixture by its parts.
  public init(
    store: any FullStore, clocks: DrivenClocks, openAnother: @escaping @Sendable () async throws -> any FullStore
  ) {
    self.store = store
    self.clocks = clocks
    self.openAnother = openAnother
  }
}

// MARK: What the checks say often

extension StoreFixture {
  static let topic = "com.example.app"
  static let lease = Duration.seconds(15)

  /// Binds the app with these environments; its credentials in their order.
  @discardableResult
  func bindApp(
    _ topic: String = Self.topic, _ environments: [Environment] = [.production]
  ) async throws -> [Credential] {
    let all = try await store.bind(
      environments.map { AppBinding(topic: topic, environment: $0, teamID: "TEAM123456", keyID: "KEY1234567") })
    return environments.compactMap { environment in all.first { $0.environment == environment } }
  }

  /// A token of 64 digits, different for each number.
  static func token(_ number: Int) -> DeviceToken {
    let digits = String(number, radix: 16)
    return DeviceToken(stored: String(repeating: "0", count: 64 - digits.count) + digits)
  }

  /// Registers devices with the tokens of these numbers; their ids in the order of the numbers.
  @discardableResult
  func register(
    _ numbers: some Sequence<Int>, interests: [String] = [], user: String? = nil, verified: Bool = true,
    topic: String = Self.topic, environment: Environment = .production
  ) async throws -> [DeviceID] {
    let results = try await store.register(
      numbers.map {
        DeviceRegistration(
          topic: topic, environment: environment, token: Self.token($0), user: user.map { .set($0) } ?? .unchanged,
          userIsVerified: verified, interests: .set(interests))
      })
    return results.map {
      switch $0 {
      case .added(let id), .refreshed(let id): id
      }
    }
  }

  /// A publication to a target, everything else usual.
  static func publication(
    _ target: Target, lane: Lane = .normal, environment: Environment? = nil, sendAt: UnixMilliseconds? = nil,
    deadline: Deadline = .after(.seconds(86_400)), key: IdempotencyKey? = nil, topic: String = Self.topic
  ) -> Publication {
    Publication(
      topic: topic, target: target, environment: environment, payload: Array(#"{"aps":{"alert":"Hi"}}"#.utf8),
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: lane, deadline: deadline, sendAt: sendAt,
      idempotencyKey: key)
  }

  /// Publishes; the new notification's id.
  @discardableResult
  func publish(
    _ target: Target, lane: Lane = .normal, environment: Environment? = nil, sendAt: UnixMilliseconds? = nil,
    deadline: Deadline = .after(.seconds(86_400)), topic: String = Self.topic
  ) async throws -> NotificationID {
    let result = try await store.publish(
      Self.publication(
        target, lane: lane, environment: environment, sendAt: sendAt, deadline: deadline, topic: topic))
    guard case .stored(let id, _) = result else { throw SupportError("publish answered \(result)") }
    return id
  }

  /// Claims everything due in a lane for an owner, with every credential.
  func claim(
    _ lane: Lane = .normal, owner: Int64 = 1, from other: (any Store)? = nil, limit: Int = 100,
    window: Duration? = nil
  ) async throws -> [LeasedTask] {
    let store = other ?? store
    let credentials = try await store.credentials().map(\.id)
    let tasks = try await store.claim(
      ClaimRequest(
        lane: lane, owner: owner, lease: Self.lease, window: window, credentials: credentials, limit: limit))
    return tasks.sorted { $0.id < $1.id }
  }

  /// Claims the one task that is due.
  func claimOne(_ lane: Lane = .normal, owner: Int64 = 1) async throws -> LeasedTask {
    let tasks = try await claim(lane, owner: owner)
    guard tasks.count == 1 else { throw SupportError("\(tasks.count) tasks are due, not one") }
    return tasks[0]
  }

  /// The next devices of a source.
  func walk(_ request: WalkRequest) async throws -> DeviceWindow { try await store.read([.walk(request)])[0] }

  /// The rows of named devices.
  func named(_ ids: [DeviceID], of target: PackedTarget) async throws -> DeviceWindow {
    try await store.read([.named(ids, of: target)])[0]
  }

  /// The devices of a task as the walk finds them: all sources, merged, without doubles.
  func walk(_ task: LeasedTask) async throws -> [DeviceID] {
    guard let notification = try await store.notification(task.notificationID) else { return [] }
    if let list = task.list {
      let window = try await named(list, of: notification.target)
      return window.ids.indices.filter { !window.isRetired[$0] && window.isMember[$0] }.map { window.ids[$0] }
    }
    let target = notification.target
    var sources: [WalkSource] = target.interests.map { .interest($0) }
    if !target.users.isEmpty { sources.append(.users(target.users, unverifiedToo: target.reachesUnverifiedUsers)) }
    if target.everyone { sources.append(.everyone) }
    let credentials = try await store.credentials().filter { $0.appID == task.appID }.map(\.id)
    var ids = Set(target.devices.filter { $0 > task.cursor && $0 <= task.hi })
    for source in sources {
      let window = try await walk(
        WalkRequest(
          source: source, after: task.cursor, hi: task.hi, sequenceLimit: task.sequenceLimit,
          credentials: task.credentialID.map { [$0] } ?? credentials, limit: 100_000))
      ids.formUnion(window.ids)
    }
    return ids.sorted()
  }

  /// Flushes one task.
  @discardableResult
  func flush(_ flush: TaskFlush, owner: Int64 = 1, retiring: [Retirement] = []) async throws -> LeaseState {
    let states = try await store.flush([flush], retirements: retiring, owner: owner, lease: Self.lease)
    guard states.count == 1 else { throw SupportError("\(states.count) states for one task") }
    return states[0]
  }

  /// Walks a claimed task, has APNs accept every device, and ends it.
  @discardableResult
  func deliver(_ task: LeasedTask, owner: Int64 = 1) async throws -> LeaseState {
    let devices = try await walk(task)
    return try await flush(.news(of: task, accepted: devices, ends: true), owner: owner)
  }

  /// The status of a notification that exists.
  func status(_ id: NotificationID) async throws -> NotificationStatus {
    guard let status = try await store.status(id) else { throw SupportError("no notification \(id)") }
    return status
  }

  /// All receipts, page by page.
  func receipts(
    _ id: NotificationID, outcome: Outcome? = nil, attempts: AttemptChoice = .last, limit: Int = 1000
  ) async throws -> [Receipt] {
    var receipts: [Receipt] = []
    var after = DeviceID(0)
    while true {
      let page = try await store.receipts(id, outcome: outcome, attempts: attempts, after: after, limit: limit)
      receipts += page.receipts
      guard let next = page.next else { return receipts }
      after = next
    }
  }
}

extension TaskFlush {
  /// The news of a task of which everything so far is settled: some devices accepted, others with an outcome of their own.
  static func news(
    of task: LeasedTask, accepted: [DeviceID] = [], others: [(DeviceID, Outcome, ReasonID)] = [],
    lists: [NewList] = [], ends: Bool = false, cut: Bool = false, rows: Bool = true, settledBefore: Int64? = nil,
    cursor: DeviceID? = nil
  ) -> TaskFlush {
    var outcomes = accepted.map { ($0, Outcome.accepted, ReasonID.none) } + others
    outcomes.sort { $0.0 < $1.0 }
    var counts = Counts()
    if task.attempt == 0 { counts.devices = outcomes.count }
    for outcome in outcomes { counts.add(outcome.1) }
    let receipts: Receipts =
      if outcomes.isEmpty {
        .none
      } else if rows {
        .rows(
          outcomes.map {
            ReceiptRow(
              device: $0.0, outcome: $0.1, status: $0.1 == .accepted ? 200 : 503, reason: $0.2, tries: task.tries + 1,
              latencyMilliseconds: 7, apnsUniqueID: nil)
          })
      } else {
        .packed(
          ReceiptChunk(
            devices: outcomes.map(\.0),
            exceptions: outcomes.indices.filter { outcomes[$0].1 != .accepted }.map {
              ReceiptChunk.Exception(index: $0, status: 503, reason: outcomes[$0].2, outcome: outcomes[$0].1)
            }))
      }
    return TaskFlush(
      task: task.id, notificationID: task.notificationID, epoch: task.epoch,
      settledBefore: settledBefore ?? task.settled, attempt: task.attempt,
      cursor: cursor ?? outcomes.last?.0 ?? task.cursor, count: outcomes.count, receipts: receipts, counts: counts,
      lists: lists, ends: ends, cut: cut)
  }

}

extension NewList {
  /// A list of devices that are tried again.
  static func retry(
    _ devices: [DeviceID], after delay: Duration = .seconds(30), credential: CredentialID? = nil, counted: Bool = true,
    held: Bool = false
  ) -> NewList {
    NewList(
      devices: devices.sorted(), delay: delay, credentialID: credential, isCounted: counted, isHeld: held)
  }
}
