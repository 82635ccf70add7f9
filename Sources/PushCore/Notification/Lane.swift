/// The order of service: lane 0 has its own claim loop, connection and wake-up; bulk yields to normal.
public enum Lane: UInt8, Sendable, CaseIterable, Comparable {
  /// Login approvals: milliseconds count.
  case urgent = 0
  /// Everything a backend enqueues one by one.
  case normal = 1
  /// Batches and sends to everyone.
  case bulk = 2

  /// The word for it in options and answers.
  public var name: String {
    switch self {
    case .urgent: "urgent"
    case .normal: "normal"
    case .bulk: "bulk"
    }
  }

  /// The lane of that name; nil for any other word.
  public init?(name: String) {
    guard let lane = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = lane
  }

  /// Orders by value.
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
