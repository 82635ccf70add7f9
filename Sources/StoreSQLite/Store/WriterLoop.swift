import Operations
import PushCore

/// What the writer's thread does: takes the calls that wait, runs them in one transaction, commits, answers.
final class WriterLoop {
  /// A transaction takes no further calls after this long, so that an urgent call never waits behind more than one such transaction.
  private static let transactionTime = Duration.milliseconds(4)
  /// The checkpointer is woken when the log grew by this many pages (4 MB).
  private static let logStep = 1000

  private let transaction: Transaction
  private let inbox: Inbox<WriteCall>
  private let handlers: Lock<[@Sendable (Lane) -> Void]>
  private let pollInterval: Duration
  private let bell: Bell
  private let logGrew: @Sendable () -> Void
  private let clock = SystemClocks()
  private var backlog = Backlog()
  private var seenVersion: Int64?
  private var nextPoll = MonotonicTime(nanoseconds: 0)
  private var announcedPages = 0

  init(
    transaction: Transaction, inbox: Inbox<WriteCall>, handlers: Lock<[@Sendable (Lane) -> Void]>,
    pollInterval: Duration, bell: Bell, logGrew: @escaping @Sendable () -> Void
  ) {
    self.transaction = transaction
    self.inbox = inbox
    self.handlers = handlers
    self.pollInterval = pollInterval
    self.bell = bell
    self.logGrew = logGrew
  }

  /// Serves calls until the inbox is closed and empty.
  func run() {
    while true {
      guard let calls = inbox.take(timeout: waitingTime) else {
        if backlog.isEmpty { return }
        commitTogether()
        continue
      }
      backlog.add(calls)
      if !backlog.isEmpty { commitTogether() }
      lookForOthersWork()
    }
  }

  /// How long the inbox may stay silent: nobody who wants to know of others' work = for ever.
  private var waitingTime: Duration? {
    if !backlog.isEmpty { return .zero }
    return handlers.withLock { $0.isEmpty } ? nil : pollInterval
  }

  // MARK: Transactions

  private func commitTogether() {
    defer { backlog.endTransaction() }
    guard let begun = begin() else { return }
    var ran: [(call: WriteCall, answer: @Sendable () -> Void)] = []
    while let call = backlog.next(afterTime: clock.monotonicTime().since(begun) >= Self.transactionTime) {
      let changesBefore = transaction.connection.totalChanges
      transaction.beginCall()
      do throws(StoreError) {
        ran.append((call, try call.run(transaction)))
      } catch {
        call.fail(error)
        if transaction.connection.totalChanges == changesBefore, transaction.connection.isInTransaction { continue }
        // It failed after it wrote: all goes, and the others are repeated, each alone.
        rollBack()
        for (call, _) in ran { commitAlone(call) }
        return
      }
    }
    do throws(StoreError) {
      try commit()
      for (_, answer) in ran { answer() }
    } catch {
      rollBack()
      for (call, _) in ran { call.fail(error) }
    }
  }

  private func commitAlone(_ call: WriteCall) {
    do throws(StoreError) {
      try transaction.connection.run("BEGIN IMMEDIATE", [])
      transaction.beginCall()
      let answer = try call.run(transaction)
      try commit()
      answer()
    } catch {
      rollBack()
      call.fail(error)
    }
  }

  /// Begins a transaction; when that fails, everyone who waits is told.
  private func begin() -> MonotonicTime? {
    do throws(StoreError) {
      try transaction.connection.run("BEGIN IMMEDIATE", [])
      return clock.monotonicTime()
    } catch {
      rollBack()
      while let call = backlog.next(afterTime: false) { call.fail(error) }
      return nil
    }
  }

  private func commit() throws(StoreError) {
    try transaction.connection.run("COMMIT", [])
    let lanes = transaction.takeWokenLanes()
    if !lanes.isEmpty {
      bell.ring(lanes)
      announce(lanes)
    }
    let pages = transaction.connection.logPages
    if pages < announcedPages { announcedPages = 0 }
    if pages >= announcedPages + Self.logStep {
      announcedPages = pages
      logGrew()
    }
  }

  private func rollBack() {
    _ = transaction.takeWokenLanes()
    guard transaction.connection.isInTransaction else { return }
    // A rollback that fails leaves the transaction open; the next BEGIN says so, and this is tried again.
    try? transaction.connection.run("ROLLBACK", [])
  }

  // MARK: Wake-ups

  private func announce(_ lanes: Set<Lane>) {
    let handlers = handlers.withLock { $0 }
    for lane in lanes.sorted() {
      for handler in handlers { handler(lane) }
    }
  }

  /// Finds out whether another process committed since the last look, and which lanes have work then.
  ///
  /// "The PRAGMA data_version value is unchanged for commits made on the same database connection" (https://www.sqlite.org/pragma.html): this
  /// connection makes all commits of this process.
  private func lookForOthersWork() {
    let now = clock.monotonicTime()
    guard now >= nextPoll, !handlers.withLock({ $0.isEmpty }) else { return }
    nextPoll = now + pollInterval
    do throws(StoreError) {
      let version = try transaction.first("PRAGMA data_version") { $0.integer(0) }
      guard version != seenVersion else { return }
      seenVersion = version
      transaction.beginCall()
      announce(try transaction.lanesWithDueWork())
    } catch {
      // A hint is lost, no work: workers look by themselves, and their claims report what is wrong with the database.
    }
  }
}

/// The calls that wait for a transaction, urgent ones first.
struct Backlog {
  private var urgent: [WriteCall] = []
  private var ordinary: [WriteCall] = []
  private var nextUrgent = 0
  private var nextOrdinary = 0

  var isEmpty: Bool { nextUrgent == urgent.count && nextOrdinary == ordinary.count }

  mutating func add(_ calls: [WriteCall]) {
    for call in calls {
      if call.isUrgent { urgent.append(call) } else { ordinary.append(call) }
    }
  }

  /// The next call; after the transaction's time is over only an ordinary one, if none had its turn yet, so that urgent calls never starve it.
  mutating func next(afterTime: Bool) -> WriteCall? {
    if nextUrgent < urgent.count, !afterTime {
      defer { nextUrgent += 1 }
      return urgent[nextUrgent]
    }
    if nextOrdinary < ordinary.count, !afterTime || nextOrdinary == 0 {
      defer { nextOrdinary += 1 }
      return ordinary[nextOrdinary]
    }
    return nil
  }

  /// Forgets the calls that had their turn; called at the end of each transaction.
  mutating func endTransaction() {
    urgent.removeFirst(nextUrgent)
    ordinary.removeFirst(nextOrdinary)
    nextUrgent = 0
    nextOrdinary = 0
  }
}
