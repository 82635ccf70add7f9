import Operations

/// Notices a client that connects and disconnects rapidly, which APNs may take for an attack. Source: Apple, "Sending
/// notification requests to APNs".
struct ConnectStormWatch: Sendable {
  /// A connection is part of a storm when so many others ended within ``window`` before it; Apple names no number.
  static let limit = 20
  static let window = Duration.seconds(10)

  /// The ends of the last connections, oldest first; at most ``limit``.
  private var ends: [MonotonicTime] = []

  mutating func connectionClosed(at now: MonotonicTime) {
    if ends.count == Self.limit { ends.removeFirst() }
    ends.append(now)
  }

  /// Whether a connection that begins now is part of a storm.
  func isStorm(at now: MonotonicTime) -> Bool {
    guard ends.count == Self.limit, let first = ends.first else { return false }
    return now.since(first) <= Self.window
  }
}
