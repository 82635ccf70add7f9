import Operations

/// A named thread that runs one ``EventLoop``.
///
/// The thread blocks all signals: the program's main thread handles them, and writing to a socket that the peer closed
/// is an error value (EPIPE) instead of SIGPIPE.
public final class LoopThread: Sendable {
  private struct State {
    var ended = false
    var joined = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let commands: Mailbox<@Sendable (EventLoop) -> Void>
  private let state: Lock<State>
  private let thread: ThreadID

  /// Starts the thread. `start` runs on it, before the first turn, and creates what lives there: objects that the
  /// loop shall keep are registered with it.
  ///
  /// - Parameter name: shown by `ps` and `top`; the kernel keeps 15 bytes.
  public init(name: String, start: @escaping @Sendable (EventLoop) -> Void) throws(SocketError) {
    let poller = try Poller()
    let commands = try Mailbox<@Sendable (EventLoop) -> Void>()
    let state = Lock(State())
    self.commands = commands
    self.state = state
    commands.send(start)
    thread = try ThreadID.start(name: name) {
      let loop = EventLoop(poller: poller)
      do {
        try loop.attach(commands) { bodies in for body in bodies { body(loop) } }
        loop.run()
      } catch {
        // Only an exhausted kernel refuses the watch: run what is there, so that `start` can still report failures.
        for body in commands.close() { body(loop) }
      }
      _ = commands.close()
      let waiters = state.withLock { state in
        state.ended = true
        return state.waiters
      }
      for waiter in waiters { waiter.resume() }
    }
  }

  deinit {
    stop()
    if state.withLock({ !$0.joined }) { thread.detach() }
  }

  /// Runs `body` on the loop's thread. False when the loop has ended: `body` will not run.
  @discardableResult
  public func execute(_ body: @escaping @Sendable (EventLoop) -> Void) -> Bool { commands.send(body) }

  /// Asks the loop to end after its present turn. Any thread.
  public func stop() { execute { $0.stop() } }

  /// Waits until the thread has ended. Never call it on the loop's own thread.
  public func join() {
    let first = state.withLock { state in
      defer { state.joined = true }
      return !state.joined
    }
    if first { thread.join() }
  }

  /// Returns when the loop has ended, without blocking a thread.
  public func ended() async {
    await withCheckedContinuation { continuation in
      let already = state.withLock { state in
        if !state.ended { state.waiters.append(continuation) }
        return state.ended
      }
      if already { continuation.resume() }
    }
  }
}
