/// Which of Apple's two systems a listener stands for; the raw value is the word of the request log.
public enum Environment: String, Sendable, Hashable, CaseIterable {
  /// Devices whose app has `aps-environment` production.
  case production
  /// Devices whose app has `aps-environment` development: the sandbox.
  case development

  /// The word of the `--listen` option and of the line printed for a listener.
  public var listenerName: String {
    switch self {
    case .production: "production"
    case .development: "sandbox"
    }
  }

  /// The environment of that ``listenerName``, or nil.
  public init?(listenerName: String) {
    guard let match = Self.allCases.first(where: { $0.listenerName == listenerName }) else { return nil }
    self = match
  }
}
