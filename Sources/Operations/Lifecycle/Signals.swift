/// SIGTERM, SIGINT and SIGHUP as events of the program. Process-wide, as signals are.
///
/// They are blocked before any other thread exists, and the main thread waits for them (see ``Command/main(version:)``). A
/// program that listens to ``events()`` is asked to stop by the first SIGTERM or SIGINT and ended at once, with 130, by the
/// second. One that does not listen is ended by the first, as any program is.
public enum Signals {
  /// What a signal asks for.
  public enum Event: Sendable, Equatable {
    /// To finish and end: SIGTERM, SIGINT.
    case stop
    /// To read apps and keys again: SIGHUP.
    case reload
  }

  private struct State {
    var listeners: [AsyncStream<Event>.Continuation] = []
    var isStopping = false
  }

  private static let state = Lock(State())

  /// The events from now on.
  public static func events() -> AsyncStream<Event> {
    let (stream, continuation) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(16))
    state.withLock { $0.listeners.append(continuation) }
    return stream
  }

  /// Blocks the signals; the first thing that `main` does.
  static func block() { SignalMask.block() }

  /// Waits for signals and hands them out until the process ends.
  static func run() -> Never {
    while true {
      let number = SignalMask.wait()
      switch action(for: SignalMask.asksToReload(number) ? .reload : .stop) {
      case .handedOut: continue
      case .nobodyListens: SignalMask.deliverAsUsual(number)
      case .end: SignalMask.end(.interrupted)
      }
    }
  }

  private enum Action {
    case handedOut
    case nobodyListens
    case end
  }

  private static func action(for event: Event) -> Action {
    state.withLock { state in
      if state.listeners.isEmpty { return .nobodyListens }
      if event == .stop {
        if state.isStopping { return .end }
        state.isStopping = true
      }
      for listener in state.listeners { listener.yield(event) }
      return .handedOut
    }
  }
}
