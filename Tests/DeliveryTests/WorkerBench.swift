import Delivery
import Operations
import PushCore
import StorePostgreSQL
import StoreSQLite
import Support
import Testing

/// A worker on a real store with a scripted sender, under driven clocks.
struct WorkerBench {
  let store: FaultyStore
  let sender: ScriptedSender
  let clocks: DrivenClocks
  /// What the store tells the time by; moves with the worker's unless one is stepped.
  let storeClocks: DrivenClocks
  /// Whether the first push for a credential goes alone; most tests are about what follows.
  var probes = false
  let events = Lock<[WorkerEvent]>([])

  static let topic = "com.example.dashboard"

  /// Runs `body` beside a worker; the worker is stopped afterwards.
  static func run(
    _ sender: ScriptedSender = ScriptedSender(), owner: Int64 = 1, probes: Bool = false, hearsOfWork: Bool = true,
    _ body: @escaping @Sendable (WorkerBench) async throws -> Void
  ) async throws {
    let clocks = DrivenClocks()
    let storeClocks = DrivenClocks()
    try await StoreKind.current.withStore(storeClocks) { store in
      let bench = WorkerBench(
        store: FaultyStore(store, hearsOfWork: hearsOfWork), sender: sender, clocks: clocks, storeClocks: storeClocks,
        probes: probes)
      _ = try await bench.store.bind(
        Environment.allCases.map {
          AppBinding(topic: topic, environment: $0, teamID: "ABCDE12345", keyID: "KEY1234567")
        })
      try await bench.whileWorking(owner: owner) { try await body(bench) }
      await bench.store.close()
    }
  }

  /// Runs a worker while `body` runs.
  func whileWorking(owner: Int64, _ body: @escaping @Sendable () async throws -> Void) async throws {
    let events = events
    var configuration = WorkerConfiguration(owner: owner)
    configuration.probesCredentials = probes
    let worker = Worker(
      store: store, sender: sender, clocks: clocks, configuration: configuration,
      events: { event in events.withLock { $0.append(event) } })
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await worker.run() }
      group.addTask {
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        worker.stop(grace: .zero)
        try outcome.get()
      }
      try await group.waitForAll()
    }
  }

  func register(_ count: Int, interest: String? = nil, user: String? = nil, environment: Environment = .production)
    async throws -> [DeviceToken]
  {
    let tokens = (0..<count).map { index in
      let text = String(index + 1, radix: 16)
      return DeviceToken(stored: String(repeating: "0", count: 64 - text.utf8.count) + text)
    }
    _ = try await store.register(
      tokens.map {
        DeviceRegistration(
          topic: Self.topic, environment: environment, token: $0, user: user.map { .set($0) } ?? .unchanged,
          userIsVerified: true, interests: interest.map { .set([$0]) } ?? .unchanged)
      })
    return tokens
  }

  func publish(
    _ target: Target, lane: Lane = .normal, deadline: Deadline = .after(.seconds(3600)),
    sendAt: UnixMilliseconds? = nil, payload: String = #"{"aps":{"alert":"x"}}"#, values: RecipientValues? = nil
  ) async throws -> NotificationID {
    var publication = Publication(
      topic: Self.topic, target: target, payload: Array(payload.utf8),
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: lane, deadline: deadline, sendAt: sendAt)
    publication.recipientValues = values
    let result = try await store.publish(publication)
    guard case .stored(let id, _) = result else { throw SupportError("not stored: \(result)") }
    return id
  }

  /// Moves all clocks on.
  func advance(by duration: Duration) {
    storeClocks.advance(by: duration)
    clocks.advance(by: duration)
  }

  /// Moves the clocks on in small steps until the condition holds.
  func until(
    _ what: String, step: Duration = .milliseconds(20), _ condition: () async throws -> Bool
  ) async throws {
    try await eventually(within: .seconds(30), what) {
      if try await condition() { return true }
      advance(by: step)
      return false
    }
  }

  /// Waits for the final state and gives it.
  func final(_ id: NotificationID, step: Duration = .milliseconds(20)) async throws -> NotificationStatus {
    try await until("notification \(id) is final", step: step) { try await store.status(id)?.state.isFinal == true }
    guard let status = try await store.status(id) else { throw SupportError("no status") }
    return status
  }

  func receipts(_ id: NotificationID) async throws -> [Receipt] {
    var receipts: [Receipt] = []
    var after: DeviceID? = DeviceID(0)
    while let start = after {
      let page = try await store.receipts(id, outcome: nil, after: start, limit: 1000)
      receipts += page.receipts
      after = page.next
    }
    return receipts
  }
}

/// The stores that workers are tested on.
enum StoreKind: Sendable {
  case sqlite
  case postgresql

  /// The one of the running test.
  @TaskLocal static var current = StoreKind.sqlite

  /// Opens a new store for `body`, which closes it.
  func withStore(_ clocks: DrivenClocks, _ body: (any Store) async throws -> Void) async throws {
    switch self {
    case .sqlite:
      try await withTemporaryDirectory { directory in
        try await body(try await SQLiteStore.open(directory.path(of: "relay.db"), clocks: clocks))
      }
    case .postgresql:
      try await Database.with { location, _ in
        try await body(try await PostgreSQLStore.open(location, clocks: clocks))
      }
    }
  }
}

/// Runs every test of a suite on each store, one after the other.
struct OnEveryStore: SuiteTrait, TestTrait, TestScoping {
  let isRecursive = true
  /// All at once they would starve the tests beside them that watch the time.
  private static let turnstile = Turnstile(width: 2)

  func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    try await function()
    guard testCase != nil, PostgreSQLServer.absence == nil else { return }
    try await Self.turnstile.pass {
      try await StoreKind.$current.withValue(.postgresql) { try await function() }
    }
  }
}

extension Trait where Self == OnEveryStore {
  /// On SQLite and on PostgreSQL.
  static var onEveryStore: OnEveryStore { OnEveryStore() }
}
