import Operations
import PushCore

/// The store in a PostgreSQL database, for any number of processes on any number of machines.
///
/// Four sessions: urgent calls and all other writing ones, the workers' walk, and what people ask for. Each is a thread with a connection;
/// none needs anything of the server's session beyond one transaction, so a pooler may stand between. Another connection hears of the work
/// of other processes, and shows them that this one lives.
public final class PostgreSQLStore: Store {
  /// How it behaves.
  public struct Options: Sendable {
    /// How long each host of the URI may take to accept a connection.
    public var connectTime = Duration.seconds(10)
    /// How long a call waits for a server that went away before it throws ``StoreError/Code/temporary``.
    public var patience = Duration.seconds(5)
    /// How long a statement may run, and a transaction stand still, before the server ends it.
    public var statementTime = Duration.seconds(30)
    /// How long a lock of another transaction is waited for before a call throws ``StoreError/Code/temporary``.
    public var lockTime = Duration.seconds(10)
    /// Whether the schema is made or brought to this version; else opening throws ``StoreError/Code/unavailable`` where that is needed.
    public var creates = true

    /// The default options.
    public init() {}

    /// How long the connection may be silent during a statement before it counts as lost: a little longer than the server's own limit.
    var answerTime: Duration { statementTime + .seconds(5) }
  }

  private let urgent: Session
  private let ordinary: Session
  private let walker: Session
  private let reader: Session
  let bell: Bell
  /// Which other workers are dead.
  let ownerWatch = Lock(OwnerWatch())
  /// When partitions are looked at next.
  let nextDayCare = Lock(MonotonicTime(nanoseconds: 0))

  private init(urgent: Session, ordinary: Session, walker: Session, reader: Session, bell: Bell) {
    self.urgent = urgent
    self.ordinary = ordinary
    self.walker = walker
    self.reader = reader
    self.bell = bell
  }

  /// Connects, and brings the schema `pushrelay` to this version if the options allow it.
  ///
  /// - Parameter clocks: what tells the time instead of the database's clock; for tests.
  /// - Throws: ``StoreError`` with a code that says whether the network, the permissions or the database itself is the reason.
  public static func open(
    _ location: PostgreSQLLocation, options: Options = Options(), clocks: (any Clocks)? = nil
  ) async throws(StoreError) -> PostgreSQLStore {
    let bell = Bell(location, options)
    let settings = SessionSettings(
      location: location, options: options, clocks: clocks, announce: { bell.ring($0) })
    let ordinary = try await Session.start("write", .writing, settings) { (connection) throws(StoreError) in
      if options.creates { _ = try Migrations.apply(to: connection) } else { try Migrations.check(connection) }
      try MoveDestination.check(connection)
    }
    do throws(StoreError) {
      return PostgreSQLStore(
        urgent: try await .start("urgent", .writing, settings), ordinary: ordinary,
        walker: try await .start("walk", .reading, settings), reader: try await .start("read", .reading, settings),
        bell: bell)
    } catch {
      ordinary.stop()
      throw error
    }
  }

  /// Brings a database to the schema of this version, and says from which version to which.
  public static func migrate(_ location: PostgreSQLLocation) throws(StoreError) -> (from: Int, to: Int) {
    let options = Options()
    return try Migrations.apply(
      to: try Connection(location, patience: options.connectTime, answerTime: .seconds(3600)))
  }

  /// Whether the database has a store; which version does not matter.
  public static func isMigrated(_ location: PostgreSQLLocation) throws(StoreError) -> Bool {
    let options = Options()
    return try Migrations.version(
      try Connection(location, patience: options.connectTime, answerTime: options.answerTime)) > 0
  }

  /// The statements that an administrator, and then the schema's owner, must run so that backends can be granted what the schema offers;
  /// empty where the roles are there.
  public static func missingRoles(_ location: PostgreSQLLocation) throws(StoreError) -> [String] {
    let options = Options()
    let connection = try Connection(location, patience: options.connectTime, answerTime: options.answerTime)
    var statements: [String] = []
    for (role, grants) in Migrations.grants {
      guard try connection.execute("SELECT to_regrole('\(role)') IS NULL") == "t" else { continue }
      statements += ["CREATE ROLE \(role) NOLOGIN", "SELECT pushrelay.grant_role('\(role)', \(grants))"]
    }
    return statements
  }

  deinit {
    for session in [urgent, ordinary, walker, reader] { session.stop() }
    bell.stop()
  }

  /// Ends the threads after the calls that wait, and closes the connections.
  public func close() async {
    for session in [urgent, ordinary, walker, reader] { await session.close() }
    // Last: what the calls above committed is still told to other processes.
    await bell.close()
  }

  /// Calls `handler` on a thread of the store: it must return at once.
  public func onNewWork(_ handler: @escaping @Sendable (Lane) -> Void) async { await bell.listen(handler) }

  // MARK: Calls

  /// Runs a call that writes.
  func write<Value: Sendable>(
    isUrgent: Bool = false, call: StaticString = #function,
    _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await run(on: isUrgent ? urgent : ordinary, call, body)
  }

  /// Runs a call of a worker that only reads.
  func walk<Value: Sendable>(
    call: StaticString = #function, _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await run(on: walker, call, body)
  }

  /// Runs any other call that only reads.
  func read<Value: Sendable>(
    call: StaticString = #function, _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    try await run(on: reader, call, body)
  }

  private func run<Value: Sendable>(
    on session: Session, _ call: StaticString, _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    do throws(StoreError) {
      return try await session.call(body)
    } catch {
      // "publish" of "publish(_:)".
      throw error.during(String(call.description.prefix { $0 != "(" }))
    }
  }
}
