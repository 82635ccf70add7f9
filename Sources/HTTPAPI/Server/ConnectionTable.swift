import Operations

extension HTTPServer {
  /// Bounds of a listener.
  public struct Limits: Sendable {
    /// Connections in all.
    public var connections = 1000
    /// Connections of one address; trusted proxies speak for many and have no such bound.
    public var connectionsPerAddress = 256
    /// From a request's first line, or the beginning of the connection, to the end of its body: slow senders end here.
    public var requestTimeout = Duration.seconds(30)
    /// How long a connection is kept without a request.
    public var idleTimeout = Duration.seconds(60)

    /// The bounds that suit a relay.
    public init() {}
  }
}

/// The open connections of a listener: decides which are let in and which have taken too long.
struct ConnectionTable {
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

  /// Whether one more connection of an address is let in.
  func accepts(_ address: IPAddress?) -> Bool {
    guard let address, !trusted.contains(where: { $0.contains(address) }) else { return true }
    return perAddress[address, default: 0] < limits.connectionsPerAddress
  }

  /// A connection was let in.
  mutating func opened(_ id: UInt, descriptor: Int32, address: IPAddress?, now: MonotonicTime) {
    entries[id] = Entry(descriptor: descriptor, address: address, since: now)
    if let address { perAddress[address, default: 0] += 1 }
  }

  /// A connection ended.
  mutating func closed(_ id: UInt) {
    guard let entry = entries.removeValue(forKey: id), let address = entry.address else { return }
    let left = perAddress[address, default: 1] - 1
    perAddress[address] = left == 0 ? nil : left
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
