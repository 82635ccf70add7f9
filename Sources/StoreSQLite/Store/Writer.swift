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
  private let inbox: Inbox<WriteCall>
  private let handlers: Lock<[@Sendable (Lane) -> Void]>
  private let bell: Bell
  private let end: Signal
  private let listening = Lock<Signal?>(nil)

  private init(
    inbox: Inbox<WriteCall>, handlers: Lock<[@Sendable (Lane) -> Void]>, bell: Bell, end: Signal
  ) {
    self.inbox = inbox
    self.handlers = handlers
    self.bell = bell
    self.end = end
  }

  /// Starts the thread, which opens the file, brings it to the present schema and then serves calls.
  static func start(
    _ path: String, options: SQLiteStore.Options, clocks: any Clocks, logGrew: @escaping @Sendable () -> Void
  ) async throws(StoreError) -> Writer {
    let inbox = Inbox<WriteCall>()
    let handlers = Lock<[@Sendable (Lane) -> Void]>([])
    let end = Signal()
    let opened: Result<Bell, StoreError> = await withCheckedContinuation { continuation in
      let body: @Sendable () -> Void = {
        do throws(StoreError) {
          let connection = try Connection.openWriter(path, options)
          _ = try Migrations.apply(to: connection)
          // What only reads may: finished notifications can be looked at where they were.
          if options.creates { try MoveSource.check(connection) }
          let bell = try Bell(path: path + "-bell")
          let loop = WriterLoop(
            transaction: Transaction(connection: connection, clocks: clocks), inbox: inbox, handlers: handlers,
            pollInterval: options.pollInterval, bell: bell, logGrew: logGrew)
          continuation.resume(returning: .success(bell))
          loop.run()
        } catch {
          continuation.resume(returning: .failure(error))
        }
        end.fire()
      }
      do throws(SystemError) {
        try Threads.start("store-writer", body)
      } catch {
        continuation.resume(returning: .failure(.noThread(error)))
      }
    }
    return Writer(inbox: inbox, handlers: handlers, bell: try opened.get(), end: end)
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

  /// Calls `handler` on a thread of the store when lanes got work.
  func onNewWork(_ handler: @escaping @Sendable (Lane) -> Void) {
    handlers.withLock { $0.append(handler) }
    // Wakes the loop, which from now on looks for the commits of other processes.
    _ = inbox.add(WriteCall(isUrgent: false, run: { (_) throws(StoreError) in {} }, fail: { _ in }))
    listen()
  }

  /// Starts the thread that hears other processes' rings, at the first handler.
  private func listen() {
    let isFirst = listening.withLock { listening in
      defer { listening = listening ?? Signal() }
      return listening == nil
    }
    guard isFirst, let ended = listening.withLock({ $0 }) else { return }
    do throws(SystemError) {
      try Threads.start("store-bell") { [bell, handlers] in
        bell.listen { lane in
          for handler in handlers.withLock({ $0 }) { handler(lane) }
        }
        ended.fire()
      }
    } catch {
      // Without the thread the loop's look finds the same work a little later.
      ended.fire()
    }
  }

  /// Ends the threads after the calls that wait; does not wait for them.
  func stop() {
    inbox.close()
    bell.stop()
  }

  /// Ends the threads after the calls that wait, and closes the connection.
  func close() async {
    stop()
    await end.wait()
    if let ended = listening.withLock({ $0 }) { await ended.wait() }
  }
}
