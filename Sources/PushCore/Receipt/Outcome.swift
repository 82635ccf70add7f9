/// What became of one delivery.
public enum Outcome: UInt8, Sendable, CaseIterable {
  /// Not final: a later attempt follows.
  case pending = 0
  /// APNs answered 200. Accepted, not delivered.
  case accepted = 1
  /// APNs gave a final refusal.
  case rejected = 2
  /// The deadline passed first.
  case expired = 3
  /// The notification was canceled first.
  case canceled = 4
  /// Ten counted tries failed.
  case failed = 5
  /// The device was no longer meant, or retired.
  case skipped = 6

  /// The word for it in options and answers.
  public var name: String {
    switch self {
    case .pending: "pending"
    case .accepted: "accepted"
    case .rejected: "rejected"
    case .expired: "expired"
    case .canceled: "canceled"
    case .failed: "failed"
    case .skipped: "skipped"
    }
  }

  /// The outcome of that name; nil for any other word.
  public init?(name: String) {
    guard let outcome = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = outcome
  }
}

/// Why, as a number: 0 none; 1-199 the reasons of APNs, in the order of APNs' table in this project; 200-999 our own; from 1000 on texts that
/// only the store knows.
public struct ReasonID: Sendable, Hashable {
  /// The number.
  public let rawValue: Int32

  /// A reason by its number.
  public init(_ rawValue: Int32) { self.rawValue = rawValue }

  /// No reason.
  public static let none = ReasonID(0)
  /// The device left the interests and users of the notification.
  public static let noLongerTargeted = ReasonID(200)
  /// The device was named, and is retired.
  public static let deviceRetired = ReasonID(201)
  /// The credential was held; not final.
  public static let held = ReasonID(202)
  /// The connection broke before the answer.
  public static let connectionLost = ReasonID(203)
  /// The answer did not come in time.
  public static let timeout = ReasonID(204)

  /// APNs could not be reached; not final.
  public static let unreachable = ReasonID(205)

  /// The words for our own reasons; nil for the others.
  public var ownText: String? {
    switch self {
    case .noLongerTargeted: "NoLongerTargeted"
    case .deviceRetired: "DeviceRetired"
    case .held: "Held"
    case .connectionLost: "ConnectionLost"
    case .timeout: "Timeout"
    case .unreachable: "Unreachable"
    default: nil
    }
  }
}
