/// A PostgreSQL database by its connection URI, as libpq reads it.
public struct PostgreSQLLocation: Sendable, Equatable, CustomStringConvertible {
  /// The whole URI; it may hold a password.
  public let uri: SecretText

  /// The URI with every password masked; safe to show anyone.
  public let description: String

  /// The parameters of a URI that hold secrets.
  private static let secretParameters = ["password", "sslpassword"]

  /// A location by its URI.
  public init(_ uri: String) {
    self.uri = SecretText(uri)
    description = Self.masked(uri)
  }

  /// Whether a text is such a URI.
  static func isURI(_ text: String) -> Bool { text.hasPrefix("postgresql://") || text.hasPrefix("postgres://") }

  private static func masked(_ uri: String) -> String {
    let halves = uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let user = maskedUser(halves[0])
    guard halves.count == 2 else { return PrintableText.escaped(user) }
    let parameters = halves[1].split(separator: "&", omittingEmptySubsequences: false).map { parameter in
      let name = parameter.prefix { $0 != "=" }
      return isHarmless(name) ? String(parameter) : "\(name)=\(SecretText(""))"
    }
    return PrintableText.escaped("\(user)?\(parameters.joined(separator: "&"))")
  }

  /// A name may be written with %XX too; nobody does so without something to hide.
  private static func isHarmless(_ name: Substring) -> Bool {
    !secretParameters.contains(String(name)) && !name.contains("%")
  }

  /// `USER:PASSWORD@` ends at the last @, should somebody have forgotten to write one in the password as %40.
  private static func maskedUser(_ uri: Substring) -> String {
    guard let start = uri.firstRange(of: "://")?.upperBound, let at = uri.lastIndex(of: "@"), at >= start else {
      return String(uri)
    }
    let user = uri[start..<at].prefix { $0 != ":" }
    return user.endIndex == at ? String(uri) : "\(uri[..<user.endIndex]):\(SecretText(""))\(uri[at...])"
  }
}
