/// One entry of `recipients` as its sender wrote it: whom it names, and the values for the payload's placeholders.
public struct Recipient: Sendable, Equatable {
  /// Whom an entry names.
  public enum Name: Sendable, Equatable {
    /// A device token, in any of the forms that apps print.
    case token(String)
    /// A user id.
    case user(String)
    /// An interest name.
    case interest(String)

    /// The member of the entry that says it.
    public var member: String {
      switch self {
      case .token: "token"
      case .user: "user"
      case .interest: "interest"
      }
    }
  }

  /// Whom it names.
  public var name: Name
  /// The values by the placeholders' names; those that the payload does not use mean nothing.
  public var values: [String: String]
  /// Its index in the sender's array, for findings.
  public var index: Int

  /// An entry by its parts.
  public init(_ name: Name, values: [String: String] = [:], index: Int) {
    self.name = name
    self.values = values
    self.index = index
  }

  /// Its path in findings.
  var path: String { "recipients[\(index)]" }
}
