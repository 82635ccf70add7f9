import Support

/// Where the programs keep their store.
enum StoreKind: Sendable {
  case sqlite
  case postgresql

  /// Those that can be had on this machine.
  static var present: [StoreKind] { PostgreSQLServer.absence == nil ? [.sqlite, .postgresql] : [.sqlite] }

  /// Runs `body` with a site whose store is new.
  func withSite<Result>(
    simulatorOptions: [String] = [], _ body: (Site, StoreShell) async throws -> Result
  ) async throws -> Result {
    let site = try await Site(simulatorOptions: simulatorOptions)
    switch self {
    case .sqlite: return try await body(site, StoreShell(file: site.directory.path(of: "relay.db")))
    case .postgresql:
      return try await PostgreSQLServer.running().withDatabase { uri in
        try site.writeConfiguration(store: uri)
        return try await body(site, StoreShell(uri: uri))
      }
    }
  }
}

/// The store as another program sees it.
struct StoreShell: Sendable {
  /// What the setting `store` says.
  let location: String
  private let program: BuiltProgram
  private let arguments: [String]
  private let beginning: String

  init(file: String) {
    location = "sqlite:\(file)"
    program = BuiltProgram(path: "/usr/bin/sqlite3")
    arguments = ["-bail", "-cmd", ".timeout 20000", file]
    beginning = ""
  }

  init(uri: String) {
    location = uri
    program = BuiltProgram(path: "/usr/bin/psql")
    arguments = ["-XAtq", "-v", "ON_ERROR_STOP=1", uri]
    beginning = "SET search_path=pushrelay;\n"
  }

  /// Runs SQL; the lines of the answer.
  @discardableResult
  func query(_ text: String) async throws -> [String] {
    let result = try await program.run(arguments, input: Array("\(beginning)\(text);\n".utf8))
    guard result.status == 0, result.errorOutput.isEmpty else { throw SupportError("\(program.path): \(result)") }
    return result.lines
  }

  /// Runs `body` while another transaction keeps everyone from writing.
  func whileLocked(_ begin: String, _ body: () async throws -> Void) async throws {
    let shell = try program.start(arguments)
    shell.write(Array("\(beginning)\(begin); SELECT 'locked';\n".utf8))
    _ = try await shell.line(beginningWith: "locked")
    try await body()
    shell.feed(Array("ROLLBACK;\n".utf8))
    let result = try await shell.result()
    guard result.status == 0 else { throw SupportError("\(program.path): \(result)") }
  }
}
