import Operations

/// Decides for one origin which connection takes the next streams, when another one is opened, and when one is closed or
/// replaced. A value without sockets, clocks and chance: time and random numbers are parameters, what to do comes back.
struct ConnectionPool {
  struct Rules {
    var maximumConnections: Int
    var growAfter: Duration
    var idleTimeout: Duration
    var replacementInterval: Duration
    var refusalDelay: Duration
    /// How long requests wait for connections whose peer allows no streams.
    var noStreamsTimeout: Duration
    var minimumBackoff: Duration
    var maximumBackoff: Duration
  }

  enum Phase {
    case connecting
    case ready
    case draining
  }

  struct Member {
    let id: UInt32
    var phase = Phase.connecting
    var open = 0
    var limit = 0
    var readySince = MonotonicTime(nanoseconds: 0)
    var idleSince: MonotonicTime?
    var answered: UInt64 = 0
    var brake = RefusalBrake()

    mutating func room(_ now: MonotonicTime) -> Int {
      phase == .ready ? max(0, brake.limit(limit, open: open, now: now) - open) : 0
    }
  }

  /// What waiting requests call for.
  enum Demand: Equatable {
    /// Nothing to do: there is room, or a connection is coming, or it is too early for another one.
    case satisfied
    /// Open a connection.
    case connect
    /// Give this connection up: it has allowed no streams for long.
    case replace(UInt32)
    /// Open a connection as soon as the budget of connects allows it; ask again by then.
    case wait
    /// Nothing can take the requests before this time.
    case refuse(until: MonotonicTime)
  }

  /// How an established connection ended.
  enum End {
    /// We closed it.
    case intended
    /// The peer did, before it gave any answer.
    case unanswered
    /// The peer said GOAWAY, after answers.
    case goAway
    /// It broke, after answers.
    case broken
  }

  /// A connection that ends without an answer within this time counts as a failed connect.
  private static let earlyEnd: Duration = .seconds(5)
  /// Connections that may break early, after answers, before the origin is left alone: no storm of connects to a server
  /// that breaks each of them.
  private static let toleratedBreaks = 3
  /// Streams given to one connection before the next one is looked at, so that no connection gets a burst alone.
  private static let grantSize = 32

  let rules: Rules
  private(set) var members: [Member] = []
  private(set) var backoff: Backoff
  private var budget = ConnectBudget()
  private var brokenInRow = 0
  private var fullSince: MonotonicTime?
  private var lastReplacement: MonotonicTime?

  init(_ rules: Rules) {
    self.rules = rules
    backoff = Backoff(minimum: rules.minimumBackoff, maximum: rules.maximumBackoff)
  }

  /// The connection to give the next streams, and how many at most: the one with the most room.
  mutating func grant(now: MonotonicTime) -> (id: UInt32, count: Int)? {
    var best: (id: UInt32, count: Int)?
    for index in members.indices {
      let room = members[index].room(now)
      if room > best?.count ?? 0 { best = (members[index].id, room) }
    }
    guard let best else { return nil }
    return (best.id, min(best.count, Self.grantSize))
  }

  /// Says what to do for requests that wait after all grants are used up.
  mutating func demand(now: MonotonicTime) -> Demand {
    if members.indices.contains(where: { members[$0].room(now) > 0 }) {
      fullSince = nil
      return .satisfied
    }
    let usable = members.filter { $0.phase == .ready }
    if usable.isEmpty {
      if members.contains(where: { $0.phase == .connecting }) { return .satisfied }
      return backoff.allows(now) ? connect(now) : .refuse(until: backoff.notBefore ?? now)
    }
    guard let since = fullSince else {
      fullSince = now
      return .satisfied
    }
    if now.since(since) >= rules.noStreamsTimeout, let shut = usable.first, usable.allSatisfy({ $0.limit == 0 }) {
      return .replace(shut.id)
    }
    let taking = members.count { $0.phase != .draining }
    // A peer that allows one stream or none has not made up its mind about us yet.
    let mayGrow =
      taking < rules.maximumConnections && usable.count == taking && usable.allSatisfy { $0.limit > 1 }
      && now.since(since) >= rules.growAfter && backoff.allows(now)
    guard mayGrow else { return .satisfied }
    fullSince = nil
    return connect(now)
  }

  private mutating func connect(_ now: MonotonicTime) -> Demand {
    budget.take(now: now, interval: rules.minimumBackoff) ? .connect : .wait
  }

  /// No requests wait: being full is no longer a reason to grow.
  mutating func relaxed() { fullSince = nil }

  mutating func began(_ id: UInt32) { members.append(Member(id: id)) }

  mutating func ready(_ id: UInt32, limit: Int, now: MonotonicTime) {
    update(id) {
      $0.phase = .ready
      $0.limit = limit
      $0.readySince = now
      $0.idleSince = now
    }
  }

  /// Takes over a connection's present counts.
  mutating func observe(_ id: UInt32, open: Int, limit: Int, answered: UInt64, now: MonotonicTime) {
    update(id) {
      $0.brake.answered(Int(clamping: answered - $0.answered), limit: limit)
      $0.answered = answered
      $0.open = open
      $0.limit = limit
      if open > 0 {
        $0.idleSince = nil
      } else if $0.idleSince == nil {
        $0.idleSince = now
      }
    }
  }

  /// The peer refused streams on a connection that goes on, with `open` streams left.
  mutating func refused(_ id: UInt32, open: Int, now: MonotonicTime) {
    let delay = rules.refusalDelay
    update(id) { $0.brake.refused(open: open, now: now, delay: delay) }
  }

  /// The peer said anew how many streams a connection takes.
  mutating func limitAnnounced(_ id: UInt32) { update(id) { $0.brake.limitAnnounced() } }

  /// When a connection that refused streams may be tried again; nil when none is held back.
  var nextTrial: MonotonicTime? { members.compactMap { $0.phase == .ready ? $0.brake.notBefore : nil }.min() }

  /// An answer came on some connection: the origin works.
  mutating func proved() { if backoff.failures > 0 { backoff.succeeded() } }

  /// Gives a connection no new streams. False when it was draining before.
  mutating func drain(_ id: UInt32) -> Bool {
    guard let member = members.first(where: { $0.id == id }), member.phase != .draining else { return false }
    update(id) { $0.phase = .draining }
    return true
  }

  /// Whether a sick connection may be replaced now. Limited in rate, since a server that is sick as a whole must not be
  /// met with ever new connections.
  mutating func mayReplace(now: MonotonicTime) -> Bool {
    if let lastReplacement, now.since(lastReplacement) < rules.replacementInterval { return false }
    lastReplacement = now
    return true
  }

  /// A connection could not be established.
  mutating func failed(_ id: UInt32, now: MonotonicTime, random: Double) {
    members.removeAll { $0.id == id }
    backoff.failed(now, random: random)
  }

  /// The peer let a connection stand without ever taking a request: as bad as none.
  mutating func neverTook(now: MonotonicTime, random: Double) { backoff.failed(now, random: random) }

  /// An established connection has ended. True when that counts as a failed connect: it ended early without an answer, or
  /// it is one of several in a row that broke early.
  mutating func ended(_ id: UInt32, _ end: End, now: MonotonicTime, random: Double) -> Bool {
    guard let member = members.first(where: { $0.id == id }) else { return false }
    members.removeAll { $0.id == id }
    guard now.since(member.readySince) < Self.earlyEnd else {
      brokenInRow = 0
      return false
    }
    switch end {
    case .intended, .goAway: return false
    case .broken:
      brokenInRow += 1
      guard brokenInRow > Self.toleratedBreaks else { return false }
    case .unanswered: break
    }
    backoff.failed(now, random: random)
    return true
  }

  /// A connection beyond the first that has been idle for long, to be closed.
  func surplus(now: MonotonicTime) -> UInt32? {
    let ready = members.filter { $0.phase == .ready }
    guard ready.count > 1 else { return nil }
    return ready.last { $0.idleSince.map { now.since($0) >= rules.idleTimeout } ?? false }?.id
  }

  private mutating func update(_ id: UInt32, _ change: (inout Member) -> Void) {
    guard let index = members.firstIndex(where: { $0.id == id }) else { return }
    change(&members[index])
  }
}
