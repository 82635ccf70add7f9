import Operations

/// What a descriptor is ready for.
public struct Readiness: OptionSet, Sendable {
  /// The set's bits.
  public let rawValue: UInt8

  /// A set by its bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Bytes, a connection or the end of the stream can be read.
  public static let readable = Readiness(rawValue: 1)
  /// Bytes can be written, or a connection attempt ended.
  public static let writable = Readiness(rawValue: 2)
  /// The peer hung up or the descriptor failed; the next read or write says which.
  public static let hangUp = Readiness(rawValue: 4)
}

/// What the loop calls when a registered descriptor becomes ready.
public protocol EventHandler: AnyObject {
  /// The descriptor changed to ready. Edge-triggered: the handler reads or writes until the call would block.
  func ready(_ readiness: Readiness)
}

/// What the loop calls once at the end of each turn, after all events and timers of that turn.
public protocol TurnHandler: AnyObject {
  /// Everything that arrived in this turn has been handled: flush what was collected.
  func turnEnded()
}

/// Names one registration of a descriptor.
public struct RegistrationID: Sendable, Hashable {
  let slot: UInt32
  let generation: UInt32
  var key: UInt64 { UInt64(generation) << 32 | UInt64(slot) }

  init(slot: UInt32, generation: UInt32) {
    self.slot = slot
    self.generation = generation
  }

  init(key: UInt64) {
    slot = UInt32(truncatingIfNeeded: key)
    generation = UInt32(truncatingIfNeeded: key >> 32)
  }
}

/// One thread's loop over descriptors and timers: wait, call the handlers of what became ready, fire due timers,
/// end the turn.
///
/// Confined to the thread that runs it: not `Sendable`, and everything it calls runs on that thread. Other threads
/// reach it through a ``Mailbox``. It keeps handlers alive until they are removed or the loop ends.
public final class EventLoop {
  private struct Slot {
    var generation: UInt32 = 0
    var handler: (any EventHandler)?
  }

  /// Timers that are so late show that the loop was held up.
  private static let lateness = Duration.milliseconds(100)
  /// The most looks for events that go before late timers, so that a steady stream cannot hold them up for ever.
  private static let catchUpRounds = 1000

  private let poller: Poller
  private let clocks = SystemClocks()
  private var slots: [Slot] = []
  private var freeSlots: [UInt32] = []
  private var timers = TimerQueue<() -> Void>()
  private var turnHandlers: [any TurnHandler] = []
  private var resumed: [(RegistrationID, Readiness)] = []
  private var running = true

  /// The monotonic time at which this turn began; cheaper than asking the clock for each use.
  public private(set) var now: MonotonicTime

  /// A loop with nothing registered.
  public convenience init() throws(SocketError) {
    self.init(poller: try Poller())
  }

  init(poller: Poller) {
    self.poller = poller
    now = clocks.monotonicTime()
  }

  /// Descriptors that are watched, and timers that have not fired: for tests that nothing is left behind.
  package var load: (descriptors: Int, timers: Int) { (slots.count - freeSlots.count, timers.count) }

  /// Runs turns until ``stop()``, then lets go of all handlers, timers and turn handlers.
  public func run() {
    while running { turn() }
    slots.removeAll()
    timers = TimerQueue()
    turnHandlers.removeAll()
  }

  /// Ends ``run()`` after the present turn.
  public func stop() { running = false }

  /// Reads the clock again, for work within a turn that took long.
  public func refreshNow() { now = clocks.monotonicTime() }

  private func turn() {
    let count = poller.wait(milliseconds: timeout())
    now = clocks.monotonicTime()
    deliver(count)
    if let due = timers.nextDeadline, now.since(due) > Self.lateness { catchUp() }
    while let fire = timers.popDue(now) { fire() }
    for handler in turnHandlers { handler.turnEnded() }
  }

  /// The process was paused, or starved: answers that lie in the sockets have come in time, and must not find their timers fired.
  private func catchUp() {
    for _ in 0..<Self.catchUpRounds {
      let count = poller.wait(milliseconds: 0)
      if count == 0, resumed.isEmpty { return }
      deliver(count)
    }
  }

  private func deliver(_ count: Int) {
    for index in 0..<count {
      let (key, readiness) = poller.event(index)
      deliver(readiness, to: RegistrationID(key: key))
    }
    guard !resumed.isEmpty else { return }
    let interrupted = resumed
    resumed.removeAll()
    for (id, readiness) in interrupted { deliver(readiness, to: id) }
  }

  private func deliver(_ readiness: Readiness, to id: RegistrationID) {
    // A handler called earlier in this turn may have removed this one, and its slot may have a new owner.
    let slot = Int(id.slot)
    guard slot < slots.count, slots[slot].generation == id.generation else { return }
    slots[slot].handler?.ready(readiness)
  }

  private func timeout() -> Int32 {
    if !resumed.isEmpty { return 0 }
    guard let deadline = timers.nextDeadline else { return -1 }
    let wait = deadline.since(clocks.monotonicTime()).wholeNanoseconds
    // Rounded up: waking a moment too early would spin until the deadline.
    return Int32(clamping: (wait + 999_999) / 1_000_000)
  }
}

extension EventLoop {
  /// Watches a descriptor for both directions, edge-triggered; `handler` is kept until ``remove(_:descriptor:)``.
  ///
  /// The descriptor stays the caller's: remove it here before closing it.
  public func register(_ descriptor: Int32, handler: any EventHandler) throws(SocketError) -> RegistrationID {
    let slot: UInt32
    if let free = freeSlots.popLast() {
      slot = free
    } else {
      slot = UInt32(slots.count)
      slots.append(Slot())
    }
    let id = RegistrationID(slot: slot, generation: slots[Int(slot)].generation)
    do {
      try poller.add(descriptor, key: id.key)
    } catch {
      freeSlots.append(slot)
      throw error
    }
    slots[Int(slot)].handler = handler
    return id
  }

  /// Stops watching a descriptor. Events of this turn not yet delivered are dropped. Removing twice does nothing.
  public func remove(_ id: RegistrationID, descriptor: Int32) {
    let slot = Int(id.slot)
    guard slot < slots.count, slots[slot].generation == id.generation, slots[slot].handler != nil else { return }
    poller.remove(descriptor)
    slots[slot].handler = nil
    slots[slot].generation &+= 1
    freeSlots.append(id.slot)
  }

  /// Calls the handler again in the next turn, for one that stopped before its descriptor would block so that others get
  /// their turn: an edge is not repeated by itself.
  public func resume(_ id: RegistrationID, _ readiness: Readiness) { resumed.append((id, readiness)) }

  /// Calls `handler` at the end of each turn until it is removed.
  public func addTurnHandler(_ handler: any TurnHandler) { turnHandlers.append(handler) }

  /// Stops calling `handler`.
  public func removeTurnHandler(_ handler: any TurnHandler) { turnHandlers.removeAll { $0 === handler } }

  /// Calls `fire` once at `deadline` or up to a millisecond later.
  @discardableResult
  public func schedule(at deadline: MonotonicTime, _ fire: @escaping () -> Void) -> TimerID {
    timers.schedule(at: deadline, fire)
  }

  /// Calls `fire` once, `delay` after this turn's ``now``.
  @discardableResult
  public func schedule(after delay: Duration, _ fire: @escaping () -> Void) -> TimerID {
    timers.schedule(at: now + delay, fire)
  }

  /// Forgets a timer; does nothing when it has fired or was canceled before.
  public func cancel(_ timer: TimerID) { timers.cancel(timer) }
}
