/// How long to wait between two attempts to connect: 0.1 s, doubling to 5 s, with jitter so that many processes do not come at once.
struct ReconnectDelay {
  private static let shortest = Duration.milliseconds(100)
  private static let longest = Duration.seconds(5)
  private var present = shortest

  /// The next delay; `jitter` is from 0 to 1.
  mutating func next(jitter: Double) -> Duration {
    defer { present = min(present * 2, Self.longest) }
    return present * (0.5 + jitter / 2)
  }

  /// The connection stands: the next failure begins anew.
  mutating func reset() { self = ReconnectDelay() }
}
