import Operations
import PushCore

/// What all sessions of a store have in common.
struct SessionSettings: Sendable {
  /// The database.
  let location: PostgreSQLLocation
  /// How it behaves.
  let options: PostgreSQLStore.Options
  /// What tells the time instead of the database: tests alone need that.
  let clocks: (any Clocks)?
  /// Told after a commit which lanes got work.
  let announce: @Sendable (Set<Lane>) -> Void
}

/// What a session's thread does: takes the calls that wait, runs them in transactions, answers; and connects again when it must.
///
/// What certainly was not committed is repeated. What may have been is repeated too, but told so: see ``Transaction/mayBeRepeated``.
final class SessionLoop {
  /// A transaction takes no further calls after this long.
  private static let transactionTime = Duration.milliseconds(4)
  /// How often a call is repeated that another transaction undid.
  private static let conflictLimit = 10

  private let kind: Session.Kind
  private let settings: SessionSettings
  private let clock = SystemClocks()
  private var connection: Connection?
  private var delay = ReconnectDelay()
  private var nextAttempt = MonotonicTime(nanoseconds: 0)
  private var lastFailure: StoreError?
  private var preparesStatements = true
  /// Set while the answer to a COMMIT is waited for.
  private var isCommitting = false

  init(_ kind: Session.Kind, _ settings: SessionSettings) {
    self.kind = kind
    self.settings = settings
  }

  // MARK: Calls

  /// Serves calls in their order.
  func serve(_ calls: [Call]) {
    let deadline = clock.monotonicTime() + settings.options.patience
    var rest = calls[...]
    while let first = rest.first {
      if kind == .reading || rest.count == 1 {
        serveAlone(first, until: deadline)
        rest = rest.dropFirst()
      } else {
        rest = rest.dropFirst(serveTogether(rest, until: deadline))
      }
    }
  }

  /// Runs calls in one transaction until its time is over; how many had their turn. If any of them fails, each gets a transaction of its own.
  private func serveTogether(_ calls: ArraySlice<Call>, until deadline: MonotonicTime) -> Int {
    var answers: [@Sendable () -> Void] = []
    do throws(StoreError) {
      let transaction = try begin(mayBeRepeated: false, until: deadline)
      let begun = clock.monotonicTime()
      for call in calls {
        answers.append(try call.run(transaction))
        if clock.monotonicTime().since(begun) >= Self.transactionTime { break }
      }
      try commit(transaction)
      for answer in answers { answer() }
      return answers.count
    } catch {
      let mayBeCommitted = rollBack()
      let count = min(answers.count + 1, calls.count)
      for call in calls.prefix(count) { serveAlone(call, mayBeRepeated: mayBeCommitted, until: deadline) }
      return count
    }
  }

  private func serveAlone(_ call: Call, mayBeRepeated: Bool = false, until deadline: MonotonicTime) {
    var mayBeRepeated = mayBeRepeated
    var conflicts = 0
    while true {
      do throws(StoreError) {
        let transaction = try begin(mayBeRepeated: mayBeRepeated, until: deadline)
        let answer = try call.run(transaction)
        try commit(transaction)
        return answer()
      } catch {
        let state = connection?.failure
        let isLost = connection?.isLost == true
        if rollBack() { mayBeRepeated = true }
        if state?.isConflict == true { conflicts += 1 }
        let isWorthwhile =
          isLost && clock.monotonicTime() < deadline || state?.isUnprepared == true
          || state?.isConflict == true && conflicts <= Self.conflictLimit
        if !isWorthwhile { return call.fail(error) }
      }
    }
  }

  // MARK: Transactions

  private func begin(mayBeRepeated: Bool, until deadline: MonotonicTime) throws(StoreError) -> Transaction {
    let connection = try connected(until: deadline)
    connection.forgetFailure()
    connection.preparesStatements = preparesStatements
    // One round trip for all. Nothing outlives the transaction, so any pooler may stand between.
    let options = settings.options
    let time = try connection.execute(
      """
      BEGIN \(kind == .reading ? "ISOLATION LEVEL REPEATABLE READ READ ONLY" : "");
      SELECT pushrelay.begin_call(\(options.statementTime.wholeMilliseconds),\(options.lockTime.wholeMilliseconds))
      """)
    let now = settings.clocks?.wallTime() ?? UnixMilliseconds(time.flatMap { Int64($0) } ?? 0)
    return Transaction(connection: connection, now: now, mayBeRepeated: mayBeRepeated)
  }

  private func commit(_ transaction: Transaction) throws(StoreError) {
    try transaction.finish()
    isCommitting = true
    try transaction.connection.execute("COMMIT")
    isCommitting = false
    if !transaction.wokenLanes.isEmpty { settings.announce(transaction.wokenLanes) }
  }

  /// Ends what failed; true when it may have been committed all the same, because the answer to the COMMIT is missing.
  private func rollBack() -> Bool {
    defer { isCommitting = false }
    guard let connection else { return false }
    if connection.failure?.isUnprepared == true { preparesStatements = false }
    // After a failover another of the URI's hosts may be the one that takes writes: the next call connects anew.
    if connection.failure?.isReadOnly == true { self.connection = nil }
    if connection.isLost {
      self.connection = nil
      return isCommitting
    }
    do throws(StoreError) {
      if connection.isInTransaction { try connection.execute("ROLLBACK") }
    } catch {
      // The server ends the transaction with the connection.
      self.connection = nil
    }
    return false
  }

  // MARK: Connection

  /// The first connection; any failure is told at once.
  func open() throws(StoreError) -> Connection {
    let made = try Connection(
      settings.location, patience: settings.options.connectTime, answerTime: settings.options.answerTime)
    connection = made
    return made
  }

  /// The connection, made again when it is lost: as often as the deadline allows, with growing delays.
  private func connected(until deadline: MonotonicTime) throws(StoreError) -> Connection {
    if let connection, !connection.isLost { return connection }
    while true {
      let now = clock.monotonicTime()
      if let lastFailure, nextAttempt > now {
        guard nextAttempt < deadline else { throw lastFailure }
        Threads.sleep(nextAttempt.since(now))
      }
      do throws(StoreError) {
        let made = try open()
        delay.reset()
        lastFailure = nil
        return made
      } catch {
        // It has been reached before: it is away, not wrong.
        let isAway = error.code == .unavailable
        lastFailure = StoreError(
          code: isAway ? .temporary : error.code, operation: error.operation, underlying: error.underlying,
          remedy: error.remedy)
        nextAttempt = clock.monotonicTime() + delay.next(jitter: .random(in: 0...1))
      }
    }
  }
}
