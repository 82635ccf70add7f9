import Operations
import PushCore

/// When a provider token is used, renewed or left alone: Apple takes one for 60 minutes, and a new one at most every
/// 20.
///
/// The age is that of the `iat` inside the token. The wall clock can step; so where this process has seen the token
/// before, the time that passed on the monotonic clock counts too, and the greater age decides.
public enum ProviderTokenPolicy {
  /// A token of this age is renewed at its next use.
  public static let renewalAge: Duration = .seconds(45 * 60)
  /// APNs refuses tokens older than this.
  public static let maximumAge: Duration = .seconds(60 * 60)
  /// The least time between two tokens.
  public static let minimumInterval: Duration = .seconds(20 * 60)
  /// How far another host's clock may be ahead before its tokens count as wrongly dated.
  public static let clockTolerance: Duration = .seconds(60)

  /// What is known of a token's age.
  public struct Age: Sendable, Equatable {
    /// Wall clock now minus `iat`; negative when the clock was set back, or wrong when the token was made.
    public var wall: Duration
    /// What must have passed at least by the monotonic clock; nil when this process has not seen the token before.
    public var monotonic: Duration?

    /// An age by its parts.
    public init(wall: Duration, monotonic: Duration? = nil) {
      self.wall = wall
      self.monotonic = monotonic
    }

    /// Whether the token says that it was made in the future.
    var isNegative: Bool { wall < .zero - clockTolerance }
    /// The greater of the two.
    var greatest: Duration { max(wall, monotonic ?? wall) }

    /// Whether a new token may be made: the 20 minutes have passed, as far as one can know.
    var allowsMinting: Bool {
      isNegative ? (monotonic ?? minimumInterval) >= minimumInterval : greatest >= minimumInterval
    }

    /// Whether APNs would still take the token.
    var isUsable: Bool { !isNegative && greatest < maximumAge }
  }

  /// What to do before a push.
  public enum Decision: Sendable, Equatable {
    /// Present the token at hand.
    case use
    /// Make a new one.
    case mint
    /// The token is too old and APNs takes no new one before this time.
    case wait(until: UnixMilliseconds)
  }

  /// What to do before a push; `age` nil = there is no token.
  public static func decide(age: Age?, refusedUntil: UnixMilliseconds?, now: UnixMilliseconds)
    -> Decision
  {
    let refusal = effectiveRefusal(refusedUntil, now: now)
    guard let age else { return refusal.map { .wait(until: $0) } ?? .mint }
    if !age.isNegative, age.greatest < renewalAge { return .use }
    if let refusal { return age.isUsable || age.isNegative ? .use : .wait(until: refusal) }
    return age.allowsMinting ? .mint : .use
  }

  /// What to do after ExpiredProviderToken.
  public enum ExpiryAnswer: Sendable, Equatable {
    /// Make a new one and repeat the push once, on a new connection.
    case mint
    /// Present the same token on a new connection, once: it cannot be expired unless a clock is wrong.
    case sameTokenOnNewConnection
  }

  /// What to do after ExpiredProviderToken for a token of this age.
  public static func afterExpired(age: Age, refusedUntil: UnixMilliseconds?, now: UnixMilliseconds)
    -> ExpiryAnswer
  {
    age.allowsMinting && effectiveRefusal(refusedUntil, now: now) == nil
      ? .mint : .sameTokenOnNewConnection
  }

  /// Until when no token is made after TooManyProviderTokenUpdates.
  public static func refusal(from now: UnixMilliseconds) -> UnixMilliseconds {
    UnixMilliseconds(now.value + minimumInterval.wholeMilliseconds)
  }

  /// A refusal that holds; one further ahead than any can be was written by a clock that was set back since.
  private static func effectiveRefusal(_ until: UnixMilliseconds?, now: UnixMilliseconds)
    -> UnixMilliseconds?
  {
    guard let until, until > now else { return nil }
    let latest = now.value + minimumInterval.wholeMilliseconds + clockTolerance.wholeMilliseconds
    return until.value <= latest ? until : nil
  }
}
