import JSON

/// What `version` says.
public enum Version {
  /// The version, by Semantic Versioning.
  public static let number = "0.1.0"
  /// The commit that was built; `unknown` outside a git checkout.
  public static let commit = buildCommit

  /// The line for people.
  public static func text(of program: String) -> String { "\(program) \(number) (\(commit))" }

  /// The object for programs.
  public static func json(of program: String) -> String {
    var writer = JSONWriter()
    writer.object {
      $0.member("name", program)
      $0.member("version", number)
      $0.member("commit", commit)
    }
    return writer.text
  }
}
