import Operations

extension HTTPServer {
  /// Bounds of a listener.
  public struct Limits: Sendable {
    /// Connections in all. One more ends another that has no request.
    public var connections = 1000
    /// Connections of one address, likewise; trusted proxies speak for many and have no such bound.
    public var connectionsPerAddress = 256
    /// From a request's first line, or the beginning of the connection, to the end of its body: slow senders end here.
    public var requestTimeout = Duration.seconds(30)
    /// How long a connection is kept without a request.
    public var idleTimeout = Duration.seconds(60)

    /// The bounds that suit a relay.
    public init() {}
  }
}

/// The open connections of a listener: decides which are let in, which have taken too long, and which make room for others. Whoever
/// only holds connections cannot keep out others, not even from the same address.
struct ConnectionTable {
  /// What becomes of a new connection.
  enum Admission: Equatable {
    /// It is let in.
    case accepted
    /// It is let in, and the connection with this descriptor ends for it.
    case inPlaceOf(descriptor: Int32)
    /// It is closed: every other one is being answered.
    case refused
  }

  private enum Phase {
    /// Nothing has come yet.
    case new
    /// A request is coming.
    case receiving
    /// It is being answered.
    case answering
    /// The last one was answered.
    case idle
  }

  private struct Entry {
    let descriptor: Int32
    let address: IPAddress?
    var phase = Phase.new
    var since: MonotonicTime
    /// Whether it has made room and is not counted any more.
    var isEnding = false
  }

  private let limits: HTTPServer.Limits
  private let trusted: [IPAddressRange]
  private var entries: [UInt: Entry] = [:]
  private var perAddress: [IPAddress: Int] = [:]

  init(limits: HTTPServer.Limits, trusted: [IPAddressRange]) {
    self.limits = limits
    self.trusted = trusted
  }

  /// How many requests are coming or being answered.
  private(set) var openRequests = 0

  /// How many connections are open, without those that make room.
  private var count = 0

  /// Decides about one more connection of an address.
  mutating func admit(_ address: IPAddress?) -> Admission {
    if let address, !isTrusted(address), perAddress[address, default: 0] >= limits.connectionsPerAddress {
      return makeRoom { $0.address == address }
    }
    guard count >= limits.connections else { return .accepted }
    // Of the address that has the most: an attacker, rather than somebody with a single one.
    let heaviest = perAddress.filter { !isTrusted($0.key) }.max { $0.value < $1.value }?.key
    return makeRoom { heaviest == nil || $0.address == heaviest }
  }

  private func isTrusted(_ address: IPAddress) -> Bool { trusted.contains { $0.contains(address) } }

  /// Ends the one of these connections that has kept us waiting for longest.
  private mutating func makeRoom(among candidates: (Entry) -> Bool) -> Admission {
    var victim: (id: UInt, entry: Entry)?
    for (id, entry) in entries where !entry.isEnding && entry.phase != .answering && candidates(entry) {
      if entry.since < victim?.entry.since ?? .distantFuture { victim = (id, entry) }
    }
    guard let victim else { return .refused }
    uncount(victim.entry)
    entries[victim.id]?.isEnding = true
    return .inPlaceOf(descriptor: victim.entry.descriptor)
  }

  private mutating func uncount(_ entry: Entry) {
    count -= 1
    guard let address = entry.address else { return }
    let left = perAddress[address, default: 1] - 1
    perAddress[address] = left == 0 ? nil : left
  }

  /// A connection was let in.
  mutating func opened(_ id: UInt, descriptor: Int32, address: IPAddress?, now: MonotonicTime) {
    entries[id] = Entry(descriptor: descriptor, address: address, since: now)
    count += 1
    if let address { perAddress[address, default: 0] += 1 }
  }

  /// A connection ended.
  mutating func closed(_ id: UInt) {
    guard let entry = entries.removeValue(forKey: id), !entry.isEnding else { return }
    uncount(entry)
  }

  /// The address of a connection's other end.
  func address(of id: UInt) -> IPAddress? { entries[id]?.address }

  /// The first line of a request has come.
  mutating func requestBegan(_ id: UInt, now: MonotonicTime) {
    openRequests += 1
    entries[id]?.phase = .receiving
    entries[id]?.since = now
  }

  /// All of the request is here.
  mutating func requestArrived(_ id: UInt, now: MonotonicTime) {
    entries[id]?.phase = .answering
    entries[id]?.since = now
  }

  /// The answer is written, or nobody is left to read it.
  mutating func requestEnded(_ id: UInt, now: MonotonicTime) {
    openRequests -= 1
    entries[id]?.phase = .idle
    entries[id]?.since = now
  }

  /// The descriptors of connections whose time is over.
  func overdue(now: MonotonicTime) -> [Int32] {
    entries.values.filter { entry in
      switch entry.phase {
      case .new, .receiving: entry.since + limits.requestTimeout <= now
      case .idle: entry.since + limits.idleTimeout <= now
      case .answering: false
      }
    }.map(\.descriptor)
  }

  /// The descriptors of all connections.
  var descriptors: [Int32] { entries.values.map(\.descriptor) }
}
