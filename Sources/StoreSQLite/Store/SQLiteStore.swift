import Operations
import PushCore

/// The store in one SQLite file, for one machine; any number of its processes may have the file open.
///
/// One writer thread makes all commits of the process and shares them among the calls that wait; two readers, one for the workers' walk and
/// one for everything people ask for, never wait for it.
public final class SQLiteStore: Store {
  /// How it behaves.
  public struct Options: Sendable {
    /// How long another process's lock is waited for before a call throws ``StoreError/Code/temporary``.
    public var busyTimeout = Duration.seconds(10)
    /// How often the commits of other processes are looked for, should their ring not be heard.
    public var pollInterval = Duration.milliseconds(250)
    /// The largest the file may become; calls that need more throw ``StoreError/Code/temporary``. Nil = what the disk holds.
    public var maximumBytes: Int64?
    /// A write-ahead log beyond this is reported, once until it is small again: some reader never ends.
    public var alarmingLogBytes: Int64 = 256 << 20
    /// Whether a file that is not there is created; else opening throws ``StoreError/Code/unavailable``.
    public var creates = true
    /// Called, on a thread of the store, when an operator should know something; returns at once.
    public var onEvent: @Sendable (SQLiteStoreEvent) -> Void = { _ in }

    /// The default options.
    public init() {}
  }

  let writer: Writer
  private let walker: Reader
  private let reader: Reader
  private let checkpointer: Checkpointer
  let owners: OwnerLocks
  private let name: String

  private init(
    path: String, writer: Writer, walker: Reader, reader: Reader, checkpointer: Checkpointer
  ) {
    name = "sqlite:\(path)"
    owners = OwnerLocks(database: path)
    self.writer = writer
    self.walker = walker
    self.reader = reader
    self.checkpointer = checkpointer
  }

  /// Opens the file, creates it if there is none and the options allow it, and brings it to the schema of this version.
  ///
  /// - Throws: ``StoreError`` with a code that says whether the disk, the permissions or the file itself is the reason.
  public static func open(
    _ path: String, options: Options = Options(), clocks: any Clocks = SystemClocks()
  ) async throws(StoreError) -> SQLiteStore {
    let logGrew = Signaler()
    let writer = try await Writer.start(path, options: options, clocks: clocks) { logGrew.call() }
    do throws(StoreError) {
      let walker = try await Reader.start(path, name: "walk", options: options, clocks: clocks)
      let reader = try await Reader.start(path, name: "read", options: options, clocks: clocks)
      let checkpointer = try Checkpointer.start(path, options: options)
      logGrew.set { checkpointer.wake() }
      return SQLiteStore(
        path: path, writer: writer, walker: walker, reader: reader, checkpointer: checkpointer)
    } catch {
      await writer.close()
      throw error
    }
  }

  /// Brings a file to the schema of this version, creating it if there is none, and says from which version to which.
  public static func migrate(path: String) throws(StoreError) -> (from: Int, to: Int) {
    try Migrations.apply(to: try .openWriter(path, Options()))
  }

  /// Refuses a file that was moved to another store, or is being moved: it takes no writes.
  public static func checkIsInService(path: String) throws(StoreError) {
    try MoveSource.check(try .openReader(path, Options()))
  }

  deinit {
    writer.stop()
    walker.stop()
    reader.stop()
    checkpointer.stop()
  }

  /// Ends the threads after the calls that wait, and closes the file.
  public func close() async {
    await checkpointer.close()
    await walker.close()
    await reader.close()
    // Last: the connection that closes last copies the log into the file and removes it.
    await writer.close()
    owners.release()
  }

  // MARK: Calls

  /// Runs a call on the writer.
  func write<Value: Sendable>(
    isUrgent: Bool = false, call: StaticString = #function,
    _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    do throws(StoreError) {
      return try await writer.write(isUrgent: isUrgent, body)
    } catch {
      throw error.during(Self.name(call))
    }
  }

  /// Runs a call of a worker on the walk's reader.
  func walk<Value: Sendable>(
    call: StaticString = #function, _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    do throws(StoreError) {
      return try await walker.read(body)
    } catch {
      throw error.during(Self.name(call))
    }
  }

  /// Runs any other reading call.
  func read<Value: Sendable>(
    call: StaticString = #function, _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    do throws(StoreError) {
      return try await reader.read(body)
    } catch {
      throw error.during(Self.name(call))
    }
  }

  /// "publish" of "publish(_:)".
  private static func name(_ call: StaticString) -> String {
    String(call.description.prefix { $0 != "(" })
  }
}

/// What an operator should know about the file.
public enum SQLiteStoreEvent: Sendable, Equatable {
  /// The write-ahead log grows without end, because some process has read from the file for very long: end that process.
  case logTooLarge(bytes: Int64)
  /// The log cannot be copied into the file; it grows until this is repaired.
  case checkpointFailed(StoreError)
}

/// Calls what is set later.
private final class Signaler: Sendable {
  private let target = Lock<(@Sendable () -> Void)?>(nil)
  func set(_ target: @escaping @Sendable () -> Void) { self.target.withLock { $0 = target } }
  func call() { target.withLock { $0 }?() }
}
