public import EventLoop
internal import Glibc
import Operations

/// SIGTERM and SIGINT as something to wait for.
public final class StopSignals: Sendable {
  private let thread: LoopThread
  private let state: Lock<State>

  private struct State {
    var hasCome = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  /// Keeps both signals from ending the process. Only on the main thread before any other thread exists, so that all
  /// threads inherit it. A second signal ends the process at once with status 130.
  public init() throws(SocketError) {
    var signals = sigset_t()
    unsafe sigemptyset(&signals)
    unsafe sigaddset(&signals, SIGTERM)
    unsafe sigaddset(&signals, SIGINT)
    unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    let set = signals
    let state = Lock(State())
    self.state = state
    // The thread waits for signals for the rest of the process's life.
    thread = try LoopThread(name: "signals") { _ in
      Self.wait(for: set)
      let waiter = state.withLock { state in
        state.hasCome = true
        return state.waiter.take()
      }
      waiter?.resume()
      Self.wait(for: set)
      _exit(130)
    }
  }

  /// Returns when the first signal has come.
  public func first() async {
    await withCheckedContinuation { continuation in
      let hasCome = state.withLock { state in
        if !state.hasCome { state.waiter = continuation }
        return state.hasCome
      }
      if hasCome { continuation.resume() }
    }
  }

  private static func wait(for signals: sigset_t) {
    var signals = signals
    var number: Int32 = 0
    while unsafe sigwait(&signals, &number) != 0 {}
  }
}
