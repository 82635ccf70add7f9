internal import Glibc
import Operations

/// SIGTERM and SIGINT as something to wait for.
///
/// The main thread waits for them itself, in ``serve()``. It must not be left to the concurrency runtime: at the end of an
/// asynchronous `main` libdispatch parks the main thread in sigsuspend(2) with every signal let through, and the first
/// SIGTERM would end the process there.
public final class StopSignals: Sendable {
  private struct State {
    var hasCome = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Lock(State())

  /// Keeps both signals from ending the process. On the main thread before any other thread exists, so that all threads
  /// inherit it.
  public init() {
    var signals = Self.set
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
  }

  /// Takes the signals, for the rest of the process's life: the first one wakes who waits in ``first()``, the second one
  /// ends the process at once with status 130. On the main thread.
  public func serve() -> Never {
    wait()
    let waiters = state.withLock { state in
      state.hasCome = true
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
    wait()
    _exit(130)
  }

  /// Returns when the first signal has come.
  public func first() async {
    await withCheckedContinuation { continuation in
      let hasCome = state.withLock { state in
        if !state.hasCome { state.waiters.append(continuation) }
        return state.hasCome
      }
      if hasCome { continuation.resume() }
    }
  }

  private func wait() {
    var signals = Self.set
    var number: Int32 = 0
    while unsafe sigwait(&signals, &number) != 0 {}
  }

  private static var set: sigset_t {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe sigaddset(&signals, SIGINT)
    return signals
  }
}
