/// The APNs environment that issued a device token (Apple, "Sending notification requests to APNs").
public enum Environment: UInt8, Sendable, CaseIterable {
  /// `api.push.apple.com`: App Store, TestFlight and ad hoc builds.
  case production = 0
  /// `api.sandbox.push.apple.com`: builds from Xcode.
  case sandbox = 1

  /// The word for it in configuration, options and answers.
  public var name: String {
    switch self {
    case .production: "production"
    case .sandbox: "sandbox"
    }
  }

  /// The environment of that name; nil for any other word.
  public init?(name: String) {
    switch name {
    case "production": self = .production
    case "sandbox": self = .sandbox
    default: return nil
    }
  }
}
