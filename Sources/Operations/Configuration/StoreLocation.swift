/// Where the queue, the registry and the receipts lie.
public enum StoreLocation: Sendable, Equatable, CustomStringConvertible {
  /// An SQLite database in a file.
  case sqlite(path: String)
  /// A PostgreSQL database.
  case postgresql(PostgreSQLLocation)

  /// As in the setting.
  public var description: String {
    switch self {
    case .sqlite(let path): "sqlite:\(path)"
    case .postgresql(let location): location.description
    }
  }

  /// Reads the setting; a relative path is seen from `folder`.
  /// - Throws: ``SettingFault``, which never repeats a URL: it may hold a password.
  public static func parse(_ text: String, folder: String) throws(SettingFault) -> StoreLocation {
    if PostgreSQLLocation.isURI(text) {
      guard !text.utf8.contains(0) else { throw SettingFault("holds a NUL byte", remedy: "write postgresql://…") }
      return .postgresql(PostgreSQLLocation(text))
    }
    guard text.hasPrefix("sqlite:") else {
      throw SettingFault(
        "names no kind of store",
        remedy: "write sqlite:PATH, such as sqlite:pushrelay.db, or postgresql://USER@HOST/DATABASE")
    }
    let path = String(text.dropFirst("sqlite:".count))
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw SettingFault("names no file", remedy: "write sqlite:PATH")
    }
    guard path != ":memory:" else {
      throw SettingFault("keeps the store in memory, which would lose what was accepted", remedy: "name a file")
    }
    // sqlite://name would mean a file in the root folder, which nobody means; sqlite:///var/x.db is the same as sqlite:/var/x.db.
    guard !path.hasPrefix("//") || path.hasPrefix("///") else {
      throw SettingFault(
        "has a host after 'sqlite://'", remedy: "write sqlite:PATH for a relative, sqlite:/PATH for an absolute path")
    }
    return .sqlite(path: Files.resolve(path, in: folder))
  }
}
