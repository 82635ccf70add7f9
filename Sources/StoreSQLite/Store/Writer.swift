import Operations
import PushCore

/// A call that waits for the writer. `run` may be called more than once, each time in a new transaction.
struct WriteCall: Sendable {
  /// Urgent calls come first.
  let isUrgent: Bool
  /// Runs the call; what it returns answers the caller and is called after the commit.
  let run: @Sendable (Transaction) throws(StoreError) -> @Sendable () -> Void
  /// Answers the caller that nothing was written.
  let fail: @Sendable (StoreError) -> Void
}

/// The one writer of a process: a thread with the write connection. Calls that wait together share a transaction and its fsync.
final class Writer: Sendable {
  private let inbox = Inbox<WriteCall>()
  private let handlers = Lock<[@Sendable (Lane) -> Void]>([])
  private let end = Signal()

  /// Starts the thread, which opens the file, brings it to the present schema and then serves calls.
  static func start(
    _ path: String, options: SQLiteStore.Options, clocks: any Clocks, logGrew: @escaping @Sendable () -> Void
  ) async throws(StoreError) -> Writer {
    let writer = Writer()
    let opened: Result<Void, StoreError> = await withCheckedContinuation { continuation in
      let body: @Sendable () -> Void = {
        do throws(StoreError) {
          let connection = try Connection.openWriter(path, options)
          _ = try Migrations.apply(to: connection)
          let loop = WriterLoop(
            transaction: Transaction(connection: connection, clocks: clocks), inbox: writer.inbox,
            handlers: writer.handlers, pollInterval: options.pollInterval, logGrew: logGrew)
          continuation.resume(returning: .success(()))
          loop.run()
        } catch {
          continuation.resume(returning: .failure(error))
        }
        writer.end.fire()
      }
      do throws(StoreError) {
        try Threads.start("store-writer", body)
      } catch {
        continuation.resume(returning: .failure(error))
      }
    }
    try opened.get()
    return writer
  }

  /// Runs `body` in a transaction; returns when it is durable.
  func write<Value: Sendable>(
    isUrgent: Bool, _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
      let call = WriteCall(
        isUrgent: isUrgent,
        run: { (transaction) throws(StoreError) in
          let value = try body(transaction)
          return { continuation.resume(returning: .success(value)) }
        },
        fail: { continuation.resume(returning: .failure($0)) })
      if !inbox.add(call) { call.fail(.closed("write")) }
    }
    return try result.get()
  }

  /// Calls `handler` on the writer's thread when lanes got work.
  func onNewWork(_ handler: @escaping @Sendable (Lane) -> Void) {
    handlers.withLock { $0.append(handler) }
    // Wakes the loop, which from now on looks for the work of other processes.
    _ = inbox.add(WriteCall(isUrgent: false, run: { (_) throws(StoreError) in {} }, fail: { _ in }))
  }

  /// Ends the thread after the calls that wait; does not wait for it.
  func stop() { inbox.close() }

  /// Ends the thread after the calls that wait, and closes the connection.
  func close() async {
    inbox.close()
    await end.wait()
  }
}

/// Something that happens once and is waited for.
final class Signal: Sendable {
  private struct State {
    var hasFired = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }
  private let state = Lock(State())

  /// It happened.
  func fire() {
    let waiters = state.withLock { state in
      state.hasFired = true
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Returns once it has happened.
  func wait() async {
    await withCheckedContinuation { continuation in
      let hasFired = state.withLock { state in
        if !state.hasFired { state.waiters.append(continuation) }
        return state.hasFired
      }
      if hasFired { continuation.resume() }
    }
  }
}
