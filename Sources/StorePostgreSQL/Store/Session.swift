import Operations
import PushCore

/// A call that waits for a session. `run` may be called more than once, each time in a new transaction.
struct Call: Sendable {
  /// Runs the call; what it returns answers the caller and is called after the commit.
  let run: @Sendable (Transaction) throws(StoreError) -> @Sendable () -> Void
  /// Answers the caller that nothing was written.
  let fail: @Sendable (StoreError) -> Void
}

/// A thread with a connection of its own: libpq's calls block.
final class Session: Sendable {
  /// What its transactions do.
  enum Kind: Sendable {
    /// Calls that wait together share a commit.
    case writing
    /// Each call sees one snapshot and never waits for a lock.
    case reading
  }

  private let inbox = Inbox<Call>()
  private let end = Signal()

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - name: part of the thread's name.
  ///   - opening: run on the connection before anything else; without it the session connects at its first call.
  static func start(
    _ name: String, _ kind: Kind, _ settings: SessionSettings,
    opening: (@Sendable (Connection) throws(StoreError) -> Void)? = nil
  ) async throws(StoreError) -> Session {
    let session = Session()
    let opened: Result<Void, StoreError> = await withCheckedContinuation { continuation in
      let body: @Sendable () -> Void = {
        let loop = SessionLoop(kind, settings)
        do throws(StoreError) {
          if let opening { try opening(try loop.open()) }
          continuation.resume(returning: .success(()))
          while let calls = session.inbox.take(timeout: nil) { loop.serve(calls) }
        } catch {
          continuation.resume(returning: .failure(error))
        }
        session.end.fire()
      }
      do throws(SystemError) {
        try Threads.start("store-\(name)", body)
      } catch {
        continuation.resume(returning: .failure(.noThread(error)))
      }
    }
    try opened.get()
    return session
  }

  /// Runs `body` in a transaction; returns when it is committed.
  func call<Value: Sendable>(
    _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Value
  ) async throws(StoreError) -> Value {
    let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
      let call = Call(
        run: { (transaction) throws(StoreError) in
          let value = try body(transaction)
          return { continuation.resume(returning: .success(value)) }
        },
        fail: { continuation.resume(returning: .failure($0)) })
      if !inbox.add(call) { call.fail(.closed("call")) }
    }
    return try result.get()
  }

  /// Ends the thread after the calls that wait; does not wait for it.
  func stop() { inbox.close() }

  /// Ends the thread after the calls that wait, and closes the connection.
  func close() async {
    inbox.close()
    await end.wait()
  }
}
