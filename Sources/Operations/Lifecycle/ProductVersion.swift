import JSON

/// What `version` and `--version` say.
public struct ProductVersion: Sendable, Equatable {
  /// The program's name.
  public let name: String
  /// The version, such as `1.2.0`.
  public let version: String
  /// The commit it was built from; `nil` when the build was not told.
  public let commit: String?

  /// A program's name, version and commit.
  public init(name: String, version: String, commit: String? = nil) {
    self.name = name
    self.version = version
    self.commit = commit
  }

  /// One line for people.
  public var text: String { commit.map { "\(name) \(version) (\($0))" } ?? "\(name) \(version)" }

  /// `{"name","version","commit"}`.
  public var json: String {
    var writer = JSONWriter()
    writer.object { writer in
      writer.member("name", name)
      writer.member("version", version)
      writer.member("commit", commit)
    }
    return writer.text
  }

  /// The `version` command.
  public var command: Command {
    Command("version", "Prints the version.") { invocation, console in
      console.print(invocation.flag("json") ? json : text)
      return .success
    }
  }
}
