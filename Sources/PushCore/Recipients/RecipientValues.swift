/// The values of a notification's recipients, by the names its sender uses for them.
public struct RecipientValues: Sendable, Equatable {
  /// The values of one recipient, one for each name, as ``PayloadTemplate/escaped(_:)`` gives them.
  public typealias Entry = [[UInt8]]

  /// The names of the payload's placeholders.
  public var names: [String]
  /// Those of the interests of the ``Target``, in its order.
  public var interests: [Entry] = []
  /// Those of its users, in its order.
  public var users: [Entry] = []
  /// Those of its tokens, in its order.
  public var tokens: [Entry] = []

  /// Values of nobody yet.
  public init(names: [String]) { self.names = names }
}
