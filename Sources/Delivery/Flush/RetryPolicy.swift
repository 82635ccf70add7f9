import Operations
import PushCore

/// When a failed send is tried again, and when it is given up. A value: jitter comes in.
public struct RetryPolicy: Sendable {
  /// Counted sends after which a delivery has failed.
  public var maximumTries = 10

  /// The policy of the contract: ten tries; urgent 0.5 s doubling to 15 s, else 30 s doubling to 15 min.
  public init() {}

  /// What becomes of a send that APNs or the network failed.
  public enum Decision: Sendable, Equatable {
    /// Again after this time.
    case again(after: Duration)
    /// Its last allowed try failed.
    case failed
    /// The next try would be too late.
    case expired
  }

  /// Decides for the send that was try number `tries + 1`.
  ///
  /// - Parameters:
  ///   - tries: counted sends before this one.
  ///   - notBefore: what APNs asked to wait, if it did.
  ///   - timeLeft: until the notification's deadline.
  ///   - onlyOnce: `apns-expiration: 0` allows one attempt.
  ///   - jitter: 0 ..< 1, one for all devices of a list, so that lists stay whole and outages do not end in a stampede.
  public func decide(
    lane: Lane, tries: Int, notBefore: Duration?, timeLeft: Duration, onlyOnce: Bool, jitter: Double
  ) -> Decision {
    if onlyOnce || tries + 1 >= maximumTries { return .failed }
    let delay = delay(lane: lane, tries: tries, notBefore: notBefore, jitter: jitter)
    return delay < timeLeft ? .again(after: delay) : .expired
  }

  /// Half to all of the doubled step; never less than APNs asked for.
  func delay(lane: Lane, tries: Int, notBefore: Duration?, jitter: Double) -> Duration {
    let first: Double = lane == .urgent ? 500 : 30_000
    let most: Double = lane == .urgent ? 15_000 : 900_000
    let step = min(first * Double(1 << min(tries, 20)), most)
    let backOff = step * (0.5 + jitter / 2)
    let asked = Double(notBefore?.wholeMilliseconds ?? 0) * (1 + jitter / 4)
    return .milliseconds(Int64(max(backOff, asked)))
  }
}
