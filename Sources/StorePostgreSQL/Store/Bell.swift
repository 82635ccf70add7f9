import Operations
import PushCore

/// Tells other processes that lanes got work, and hears of theirs: NOTIFY and LISTEN on a connection of its own.
///
/// A hint and nothing more: workers look by themselves too. Never inside the transaction that brings the work, because a commit with a
/// NOTIFY takes a lock of the whole server, so that commits no longer share a write to the disk. Behind a pooler that shares sessions between
/// transactions nothing is heard.
final class Bell: Sendable {
  private struct State {
    var handlers: [@Sendable (Lane) -> Void] = []
    var unsaid: Set<Lane> = []
    var isStopped = false
    /// Set once the thread runs.
    var waker: Waker?
  }

  /// The shortest time between two notifications: what comes in between is said together.
  private static let interval = Duration.milliseconds(5)
  private static let channel = "pushrelay_work"

  private let location: PostgreSQLLocation
  private let options: PostgreSQLStore.Options
  private let clock = SystemClocks()
  private let state = Lock(State())
  private let firstTry = Signal()
  private let end = Signal()

  init(_ location: PostgreSQLLocation, _ options: PostgreSQLStore.Options) {
    self.location = location
    self.options = options
  }

  /// Tells this process at once and the others soon.
  func ring(_ lanes: Set<Lane>) {
    let handlers = state.withLock { state in
      state.unsaid.formUnion(lanes)
      return state.handlers
    }
    wake()
    for lane in lanes.sorted() {
      for handler in handlers { handler(lane) }
    }
  }

  /// Calls `handler` for this process's rings and those of others; returns when these are heard, or cannot be for now.
  func listen(_ handler: @escaping @Sendable (Lane) -> Void) async {
    state.withLock { $0.handlers.append(handler) }
    if wake() { await firstTry.wait() }
  }

  /// Ends the thread once everything is said; does not wait for it.
  func stop() {
    let waker = state.withLock { state in
      state.isStopped = true
      return state.waker
    }
    if let waker { waker.wake() } else { end.fire() }
  }

  /// Ends the thread once everything is said.
  func close() async {
    stop()
    await end.wait()
  }

  /// Wakes the thread, which is started at the first need; false when there is none.
  @discardableResult
  private func wake() -> Bool {
    let waker: (waker: Waker, isNew: Bool)? = state.withLock { state in
      if state.isStopped { return nil }
      if let present = state.waker { return (present, false) }
      // Without it other processes hear nothing and look by themselves a little later.
      guard let made = try? Waker() else { return nil }
      state.waker = made
      return (made, true)
    }
    guard let waker else { return false }
    waker.waker.wake()
    guard waker.isNew else { return true }
    do throws(SystemError) {
      try Threads.start("store-bell") { self.run(waker.waker) }
      return true
    } catch {
      state.withLock { $0.waker = nil }
      return false
    }
  }

  // MARK: Thread

  private func run(_ waker: Waker) {
    var connection: Connection?
    var delay = ReconnectDelay()
    var isListening = false
    var wasListening = false
    while true {
      waker.drain()
      let (lanes, isStopped, listens) = state.withLock { state in
        defer { state.unsaid = [] }
        return (state.unsaid, state.isStopped, !state.handlers.isEmpty)
      }
      if isStopped, lanes.isEmpty { break }
      do throws(StoreError) {
        if connection == nil, !lanes.isEmpty || listens {
          isListening = false
          connection = try Connection(location, patience: options.connectTime, answerTime: options.answerTime)
          delay.reset()
        }
        if let connection {
          try say(lanes, on: connection)
          if listens, !isListening {
            try connection.execute("LISTEN \(Self.channel)")
            isListening = true
            // What was notified while the connection was away is found by looking.
            if wasListening { tell(Set(Lane.allCases)) }
            wasListening = true
            firstTry.fire()
          }
        }
        // What came in since the state was read has woken the descriptor again.
        if isStopped { continue }
        let until: MonotonicTime = .distantFuture
        if let connection, listens {
          tell(Self.lanes(try connection.notifications(or: waker.descriptor, until: until)))
        } else {
          _ = SocketWait.wait([waker.descriptor], untilReadableOr: until)
        }
        if !lanes.isEmpty { Threads.sleep(Self.interval) }
      } catch {
        // A hint is lost, no work.
        connection = nil
        firstTry.fire()
        _ = SocketWait.wait(
          [waker.descriptor], untilReadableOr: clock.monotonicTime() + delay.next(jitter: .random(in: 0...1)))
        if isStopped { break }
      }
    }
    firstTry.fire()
    end.fire()
  }

  /// Not durable, since nothing depends on it: so it waits for no disk.
  private func say(_ lanes: Set<Lane>, on connection: Connection) throws(StoreError) {
    guard !lanes.isEmpty else { return }
    let payload = lanes.sorted().map { String($0.rawValue) }.joined()
    try connection.execute(
      "BEGIN; SET LOCAL synchronous_commit=off; NOTIFY \(Self.channel), '\(payload)'; COMMIT")
  }

  private func tell(_ lanes: Set<Lane>) {
    let handlers = state.withLock { $0.handlers }
    for lane in lanes.sorted() {
      for handler in handlers { handler(lane) }
    }
  }

  private static func lanes(_ payloads: [String]) -> Set<Lane> {
    Set(payloads.joined().utf8.compactMap { Lane(rawValue: $0 &- 48) })
  }
}
