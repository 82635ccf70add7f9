import Operations
import PushCore

/// Copies the write-ahead log into the database file, on a thread and connection of its own so that no commit waits for it.
///
/// Of all processes that have the file open, one does this: the one that holds the lock file. And it begins a checkpoint only after a commit
/// that the last one did not copy. Both together rule out the WAL-reset bug of SQLite before 3.51.3 (https://www.sqlite.org/wal.html,
/// "The WAL-reset bug"), in which a checkpoint that finds nothing to copy meets the commit that starts the log again, and committed pages are
/// lost: the log is started again only when everything in it was copied, so never while such a checkpoint begins.
final class Checkpointer: Sendable {
  /// The log is cut to this size when it starts again.
  static let keptLogBytes: Int64 = 64 << 20
  /// The longest time without a look at the log.
  private static let interval = Duration.seconds(1)

  private let inbox = Inbox<Void>()
  private let end = Signal()

  /// Starts the thread; it works until ``stop()``.
  static func start(_ path: String, options: SQLiteStore.Options) throws(StoreError) -> Checkpointer {
    let checkpointer = Checkpointer()
    let body: @Sendable () -> Void = {
      do throws(StoreError) {
        let loop = CheckpointLoop(
          connection: try .openCheckpointer(path), lock: LockFile(path: path + "-checkpointer"), options: options)
        while checkpointer.inbox.take(timeout: interval) != nil { loop.look() }
      } catch {
        options.onEvent(.checkpointFailed(error))
      }
      checkpointer.end.fire()
    }
    do throws(SystemError) {
      try Threads.start("store-log", body)
    } catch {
      throw .noThread(error)
    }
    return checkpointer
  }

  /// Looks now: the log grew.
  func wake() { _ = inbox.add(()) }

  /// Ends the thread; does not wait for it.
  func stop() { inbox.close() }

  /// Ends the thread and closes its connection.
  func close() async {
    inbox.close()
    await end.wait()
  }
}

/// What the checkpointer's thread does at each look.
private final class CheckpointLoop {
  private let connection: Connection
  private let lock: LockFile
  private let options: SQLiteStore.Options
  private let clock = SystemClocks()
  private var copiedVersion: Int64?
  private var isComplete = true
  private var pages = 0
  private var nextRestart = MonotonicTime(nanoseconds: 0)
  private var hasAlarmed = false
  private var hasFailed = false

  init(connection: Connection, lock: LockFile, options: SQLiteStore.Options) {
    self.connection = connection
    self.lock = lock
    self.options = options
  }

  func look() {
    guard lock.tryLock() else { return }
    do throws(StoreError) {
      try copyWhatIsNew()
      hasFailed = false
    } catch {
      if !hasFailed { options.onEvent(.checkpointFailed(error)) }
      hasFailed = true
    }
  }

  private func copyWhatIsNew() throws(StoreError) {
    let version = try version()
    guard let copiedVersion else {
      // Whether the log holds anything new is not known yet: the next commit tells.
      self.copiedVersion = version
      return
    }
    guard version != copiedVersion || !isComplete else { return }
    let result = try connection.checkpoint(restart: mustRestart())
    pages = result.pages
    isComplete = result.copied >= result.pages
    // Read again: a checkpoint itself can change the number. A commit in between waits for the next one.
    self.copiedVersion = try self.version()
    raiseAlarm()
  }

  /// Whether the log is to be started again. That makes the writer wait, so what a reader prevents is not tried again at once.
  private func mustRestart() -> Bool {
    let now = clock.monotonicTime()
    guard Int64(pages) * Connection.pageBytes > Checkpointer.keptLogBytes, now >= nextRestart else { return false }
    nextRestart = now + .seconds(30)
    return true
  }

  /// Changes with every commit of another connection, in any process.
  private func version() throws(StoreError) -> Int64 {
    var version: Int64 = 0
    try connection.rows("PRAGMA data_version", []) { (row) throws(StoreError) in version = row.integer(0) }
    return version
  }

  private func raiseAlarm() {
    let bytes = Int64(pages) * Connection.pageBytes
    if bytes > options.alarmingLogBytes, !hasAlarmed { options.onEvent(.logTooLarge(bytes: bytes)) }
    hasAlarmed = bytes > options.alarmingLogBytes
  }
}
