import Operations
import PushCore

/// Tells other processes that lanes got work, and hears of theirs: NOTIFY and LISTEN on a connection of its own. The same session holds the
/// locks that show this process's workers alive: see ``OwnerLock``.
///
/// A hint and nothing more: workers look by themselves too. Never inside the transaction that brings the work, because a commit with a
/// NOTIFY takes a lock of the whole server, so that commits no longer share a write to the disk. Behind a pooler that shares sessions between
/// transactions nothing is heard.
final class Bell: Sendable {
  private struct State {
    var handlers: [@Sendable (Lane) -> Void] = []
    var unsaid: Set<Lane> = []
    /// The workers of this process.
    var owners: [Int64] = []
    /// Since when, or from when on, the locks of others tell something; nil while there is no session.
    var trustedSince: MonotonicTime?
    var isStopped = false
    /// Set once the thread runs.
    var waker: Waker?
  }

  /// The shortest time between two notifications: what comes in between is said together.
  private static let interval = Duration.milliseconds(5)
  /// The time between two tries to take a lock that an earlier session of ours holds for the server.
  private static let lockInterval = Duration.milliseconds(250)
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

  /// Shows that a worker of this process lives, from soon on and until the bell is closed.
  func hold(_ owner: Int64) {
    let isNew = state.withLock { state in
      guard !state.owners.contains(owner) else { return false }
      state.owners.append(owner)
      return true
    }
    if isNew { wake() }
  }

  /// The workers of this process.
  var owners: [Int64] { state.withLock { $0.owners } }

  /// Since when the locks of others tell whether they live; nil or a time to come: they do not at the moment.
  var trustedSince: MonotonicTime? { state.withLock { $0.trustedSince } }

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
    var wasConnected = false
    var shown: Set<Int64> = []
    while true {
      waker.drain()
      let (lanes, owners, isStopped, listens) = state.withLock { state in
        defer { state.unsaid = [] }
        return (state.unsaid, state.owners, state.isStopped, !state.handlers.isEmpty)
      }
      if isStopped, lanes.isEmpty { break }
      do throws(StoreError) {
        if connection == nil, !lanes.isEmpty || listens || !owners.isEmpty {
          isListening = false
          shown = []
          connection = try Connection(location, patience: options.connectTime, answerTime: options.answerTime)
          delay.reset()
          trust(after: wasConnected ? OwnerWatch.patienceAfterReconnect : .zero)
          wasConnected = true
        }
        if let connection {
          try say(lanes, on: connection)
          for owner in owners where !shown.contains(owner) {
            if try OwnerLock.take(owner, on: connection) { shown.insert(owner) }
          }
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
        let until =
          shown.count < owners.count ? clock.monotonicTime() + Self.lockInterval : MonotonicTime.distantFuture
        if let connection, listens || !owners.isEmpty {
          tell(Self.lanes(try connection.notifications(or: waker.descriptor, until: until)))
        } else {
          _ = SocketWait.wait([waker.descriptor], untilReadableOr: until)
        }
        if !lanes.isEmpty { Threads.sleep(Self.interval) }
      } catch {
        // A hint is lost, no work.
        connection = nil
        state.withLock { $0.trustedSince = nil }
        firstTry.fire()
        _ = SocketWait.wait(
          [waker.descriptor], untilReadableOr: clock.monotonicTime() + delay.next(jitter: .random(in: 0...1)))
        if isStopped { break }
      }
    }
    firstTry.fire()
    end.fire()
  }

  private func trust(after patience: Duration) {
    let since = clock.monotonicTime() + patience
    state.withLock { $0.trustedSince = since }
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
