/// Which of Apple's hosts a listener stands for: each environment has one for pushes and one for the channels of broadcasts.
public struct ListenerRole: Sendable, Hashable {
  /// Whose devices and channels it reaches.
  public var environment: Environment
  /// Whether it takes the calls that manage channels, and no push.
  public var managesChannels: Bool

  /// A role by what it is.
  public init(_ environment: Environment, managesChannels: Bool = false) {
    self.environment = environment
    self.managesChannels = managesChannels
  }

  private static let managePrefix = "manage-"

  /// The word of the `--listen` option and of the line printed for a listener.
  public var listenerName: String { (managesChannels ? Self.managePrefix : "") + environment.listenerName }

  /// The role of that ``listenerName``, or nil.
  public init?(listenerName: String) {
    let managesChannels = listenerName.hasPrefix(Self.managePrefix)
    let name = managesChannels ? String(listenerName.dropFirst(Self.managePrefix.count)) : listenerName
    guard let environment = Environment(listenerName: name) else { return nil }
    self.init(environment, managesChannels: managesChannels)
  }
}
