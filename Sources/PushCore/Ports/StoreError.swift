import Operations

/// Why the store could not do what it was asked.
public struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of failure it is; the caller decides by this alone.
  public enum Code: Sendable, Equatable {
    /// The store is busy, its disk full, it is read-only or not reachable for now: nothing was written, try again.
    case temporary
    /// It cannot be opened or reached at all.
    case unavailable
    /// The file or database may not be opened by this user.
    case notAllowed
    /// It was written by a newer version, or is damaged.
    case unusable
    /// No app has that topic.
    case unknownTopic
    /// A bug: a statement or value that can never work.
    case `internal`
  }

  /// What kind of failure it is.
  public let code: Code
  /// What was being done, with the values that matter: "open sqlite:/var/lib/pushrelay.db".
  public let operation: String
  /// What the library said.
  public let underlying: String
  /// What the reader should do; one sentence.
  public let remedy: String

  /// An error by its parts.
  public init(code: Code, operation: String, underlying: String, remedy: String) {
    self.code = code
    self.operation = operation
    self.underlying = underlying
    self.remedy = remedy
  }

  /// Whether the same call may succeed later.
  public var isTransient: Bool { code == .temporary || code == .unavailable }

  /// The whole story in one line; safe to show anyone.
  public var description: String { "\(operation): \(underlying). \(remedy)" }
}

// What every store says in the same words.
extension StoreError {
  /// The same error, with the call that met it in front.
  public func during(_ call: String) -> StoreError {
    StoreError(code: code, operation: "\(call), \(operation)", underlying: underlying, remedy: remedy)
  }

  /// The store was closed.
  public static func closed(_ operation: String) -> StoreError {
    StoreError(
      code: .unavailable, operation: operation, underlying: "the store is closed", remedy: "Open it again.")
  }

  /// A row that no version of this program writes.
  public static func unreadable(_ what: String) -> StoreError {
    StoreError(
      code: .unusable, operation: "read \(what)", underlying: "its stored form is not known to this version",
      remedy: "Run the version that wrote it, or restore the database from a backup.")
  }

  /// The system gives no thread for the calls that block.
  public static func noThread(_ failure: SystemError) -> StoreError {
    StoreError(
      code: .unavailable, operation: "\(failure.operation) '\(failure.subject)'", underlying: failure.reason,
      remedy: "Raise the limit of threads of this process.")
  }
}
