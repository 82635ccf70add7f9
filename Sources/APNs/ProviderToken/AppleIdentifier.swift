/// A team id or key id: ten characters A-Z and 0-9, as Apple gives them.
public struct AppleIdentifier: Sendable, Hashable, CustomStringConvertible {
  /// Number of characters.
  public static let length = 10

  /// The id without the white space that files and variables add.
  public let text: String

  /// Which of the two ids is meant.
  public enum Kind: String, Sendable {
    /// `iss` of the provider token.
    case team = "team id"
    /// `kid` of the provider token.
    case key = "key id"
  }

  /// Why a text is no such id.
  public struct Fault: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong and where to look.
    public let description: String
  }

  /// Trims and checks a text.
  public init(_ kind: Kind, parsing input: String) throws(Fault) {
    let text = input.filter { !$0.isWhitespace }
    let source =
      switch kind {
      case .team: "it stands under Membership in the Apple developer account"
      case .key:
        "it stands beside the key under Keys in the Apple developer account, and in the name AuthKey_<key id>.p8"
      }
    guard !text.isEmpty else { throw Fault(description: "the \(kind.rawValue) is empty; \(source)") }
    let isAllowed = text.utf8.allSatisfy {
      $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") || $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
    }
    guard isAllowed else {
      throw Fault(description: "the \(kind.rawValue) has characters other than A-Z and 0-9; \(source)")
    }
    guard text.utf8.count == Self.length else {
      let count = text.utf8.count
      throw Fault(description: "the \(kind.rawValue) has \(count) characters, expected \(Self.length); \(source)")
    }
    self.text = text
  }

  /// The id.
  public var description: String { text }

  /// A warning when team and key id look swapped: the id in the name of the key file is the team id.
  public static func swapWarning(keyFile path: String, teamID: String, keyID: String) -> String? {
    let name = path.split(separator: "/").last.map(String.init) ?? path
    guard name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") else { return nil }
    let id = name.dropFirst("AuthKey_".count).dropLast(".p8".count)
    guard id == teamID, id != keyID else { return nil }
    return "the key file is named \(name) and \(teamID) is given as the team id: team id and key id look swapped"
  }
}
