import Operations
import PushCore

/// A thread with a read connection: its calls see the last commit and never wait for the writer.
final class Reader: Sendable {
  private let inbox = Inbox<@Sendable (Transaction) -> Void>()
  private let end = Signal()

  /// Starts the thread, which opens the file and then serves calls.
  ///
  /// - Parameter name: what the connection reads; part of the thread's name.
  static func start(
    _ path: String, name: String, options: SQLiteStore.Options, clocks: any Clocks
  ) async throws(StoreError) -> Reader {
    let reader = Reader()
    let opened: Result<Void, StoreError> = await withCheckedContinuation { continuation in
      let body: @Sendable () -> Void = {
        do throws(StoreError) {
          let connection = try Connection.openReader(path, options)
          continuation.resume(returning: .success(()))
          reader.serve(Transaction(connection: connection, clocks: clocks))
        } catch {
          continuation.resume(returning: .failure(error))
        }
        reader.end.fire()
      }
      do throws(SystemError) {
        try Threads.start("store-\(name)", body)
      } catch {
        continuation.resume(returning: .failure(.noThread(error)))
      }
    }
    try opened.get()
    return reader
  }

  /// Runs `body` on one snapshot of the database.
  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
      let isOpen = inbox.add { transaction in
        do throws(StoreError) {
          continuation.resume(returning: .success(try transaction.snapshot(body)))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
      if !isOpen { continuation.resume(returning: .failure(.closed("read"))) }
    }
    return try result.get()
  }

  private func serve(_ transaction: Transaction) {
    while let calls = inbox.take(timeout: nil) {
      for call in calls { call(transaction) }
    }
  }

  /// Ends the thread after the calls that wait; does not wait for it.
  func stop() { inbox.close() }

  /// Ends the thread after the calls that wait, and closes the connection.
  func close() async {
    inbox.close()
    await end.wait()
  }
}

extension Transaction {
  /// Runs a call on one snapshot.
  fileprivate func snapshot<Value>(
    _ body: (Transaction) throws(StoreError) -> Value
  ) throws(StoreError) -> Value {
    beginCall()
    try connection.run("BEGIN", [])
    do throws(StoreError) {
      let value = try body(self)
      try connection.run("COMMIT", [])
      return value
    } catch {
      // The first failure is the one to report; nothing was written that a failing rollback could keep.
      if connection.isInTransaction { try? connection.run("ROLLBACK", []) }
      throw error
    }
  }
}
