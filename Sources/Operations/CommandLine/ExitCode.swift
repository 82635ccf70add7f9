/// How a program ended, for scripts and cron: the codes of sysexits.h that we use, and no others.
public enum ExitCode: Int32, Sendable, Hashable, CaseIterable {
  /// All accepted or done.
  case success = 0
  /// A delivery was rejected or expired.
  case rejected = 1
  /// The command line is wrong.
  case usage = 64
  /// A file, payload or device token is wrong.
  case badData = 65
  /// A service cannot be reached: APNs, the store, a relay.
  case unavailable = 69
  /// Temporary, try again: 429, 5xx, time-out, disk full.
  case temporaryFailure = 75
  /// An API key or a file permission forbids it.
  case notAllowed = 77
  /// The config file or a credential is wrong: also a 403 for the key and TopicDisallowed.
  case configuration = 78
  /// A second signal ended the process at once.
  case interrupted = 130

  /// The code to end with when all of `codes` apply; success when there is none.
  public static func combining(_ codes: some Sequence<ExitCode>) -> ExitCode {
    codes.reduce(.success) { $0.combined(with: $1) }
  }

  /// The one of the two that wins: 65, 64, 78, 77, 69, 75, 1, 0 (and an interruption before all).
  public func combined(with other: ExitCode) -> ExitCode { rank <= other.rank ? self : other }

  private var rank: Int {
    switch self {
    case .interrupted: 0
    case .badData: 1
    case .usage: 2
    case .configuration: 3
    case .notAllowed: 4
    case .unavailable: 5
    case .temporaryFailure: 6
    case .rejected: 7
    case .success: 8
    }
  }
}

/// An error that knows how a program that meets it ends.
public protocol ExitCodeProviding: Error {
  /// The code to end with.
  var exitCode: ExitCode { get }
}
