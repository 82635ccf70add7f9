import Foundation
import Operations

/// A real PostgreSQL server of the tests' own: in a temporary folder, on a unix socket alone, as an unprivileged user.
///
/// It ends, and its folder goes, when the tests' process ends, however it does.
public final class PostgreSQLServer: Sendable {
  /// Why there is none here; nil when there can be one. Under CI a missing server is a failure instead.
  public static let absence: String? =
    FileManager.default.isExecutableFile(atPath: "\(programs)/initdb")
      || ProcessInfo.processInfo.environment["CI"] == "true"
    ? nil : "PostgreSQL's server is not installed: apt-get install postgresql-15"

  private static let programs = "/usr/lib/postgresql/15/bin"
  private static let shared = Lock<Task<PostgreSQLServer, any Error>?>(nil)

  private let program: RunningProgram
  private let orders = Lock(0)
  /// The folder of socket and data.
  public let folder: String

  /// The server that all tests of a process share; started at the first call. What stops it has a server of its own.
  public static func running() async throws -> PostgreSQLServer {
    // Unstructured, so that no test's end cancels the start for the others; all of them await it.
    let start = shared.withLock { shared in
      let start = shared ?? Task { try await PostgreSQLServer() }
      shared = start
      return start
    }
    return try await start.value
  }

  /// Runs `body` with a server of its own, which it may stop, kill and configure.
  public static func with<Result>(_ body: (PostgreSQLServer) async throws -> Result) async throws -> Result {
    try await with(try await PostgreSQLServer(), body)
  }

  private static func with<Result>(
    _ server: PostgreSQLServer, _ body: (PostgreSQLServer) async throws -> Result
  ) async throws -> Result {
    do {
      let result = try await body(server)
      try await server.end()
      return result
    } catch {
      // The first failure is the one to report.
      try? await server.end()
      throw error
    }
  }

  /// Runs `body` with two servers of its own: one, and a standby that has every commit before it is answered.
  public static func withStandby<Result>(
    _ body: (_ primary: PostgreSQLServer, _ standby: PostgreSQLServer) async throws -> Result
  ) async throws -> Result {
    try await with { primary in
      try await with(try await PostgreSQLServer(standbyOf: primary)) { standby in
        try await primary.sql("ALTER SYSTEM SET synchronous_standby_names='*'")
        try await primary.sql("SELECT pg_reload_conf()")
        return try await body(primary, standby)
      }
    }
  }

  private func end() async throws {
    program.closeInput()
    _ = try await program.result(within: .seconds(60))
  }

  /// The shell stays beside it and reads a pipe whose other end only this process holds: when that is closed, it stops the server.
  private init(standbyOf primary: PostgreSQLServer? = nil) async throws {
    let make =
      if let primary {
        "\(Self.programs)/pg_basebackup -h \(primary.folder) -U pushrelay -D data -R -X stream -c fast"
      } else {
        "\(Self.programs)/initdb --no-sync -D data -U pushrelay -A trust -E UTF8 --locale=C"
      }
    let script = """
      set -eu
      folder=$(mktemp -d /tmp/pushrelay-postgresql.XXXXXX)
      trap 'rm -rf "$folder"' EXIT
      cd "$folder"
      \(make) >make.log 2>&1 || { cat make.log >&2; exit 1; }
      cat >>data/postgresql.conf <<END
      listen_addresses = ''
      unix_socket_directories = '$folder'
      fsync = off
      max_connections = 1000
      shared_buffers = 64MB
      autovacuum = off
      END
      \(Self.programs)/pg_ctl -D data -l server.log -w start >/dev/null || { cat server.log >&2; exit 1; }
      echo "ready $folder"
      while read -r number order; do
        \(Self.programs)/pg_ctl -D data -l server.log -w $order >/dev/null && echo "done $number"
      done
      \(Self.programs)/pg_ctl -D data -m immediate -w stop >/dev/null || true
      """
    // The server refuses to run as root.
    let user = getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
    let shell = BuiltProgram(path: "/usr/bin/setpriv")
    program = try shell.start(user + ["/bin/sh", "-c", script], directory: "/tmp")
    let ready = try await program.line(beginningWith: "ready ", within: .seconds(60))
    folder = String(ready.dropFirst("ready ".count))
  }

  /// The URI of a database; `pushrelay` is the superuser.
  public func uri(_ database: String) -> String { "postgresql://pushrelay@/\(database)?host=\(folder)" }

  /// Gives pg_ctl an order, such as `-m immediate stop` or `start`, and waits until it is done.
  public func order(_ order: String) async throws {
    let number = orders.withLock { orders in
      orders += 1
      return orders
    }
    program.write(Array("\(number) \(order)\n".utf8))
    _ = try await program.line(beginningWith: "done \(number)", within: .seconds(60))
  }

  /// Runs SQL in a database, or in that of the server's administrator; the lines of the answer.
  @discardableResult
  public func sql(_ text: String, at uri: String? = nil) async throws -> [String] {
    let psql = BuiltProgram(path: "\(Self.programs)/psql")
    let result = try await psql.run(["-XAtq", "-v", "ON_ERROR_STOP=1", "-c", text, uri ?? self.uri("postgres")])
    guard result.status == 0 else { throw SupportError("psql: \(result.errorOutput)") }
    return result.lines
  }

  /// The URI of a new, empty database; it goes with the server.
  public func makeDatabase() async throws -> String {
    let name = "test_" + UUID().uuidString.lowercased().replacingOccurrences(of: "-", with: "")
    try await sql("CREATE DATABASE \(name)")
    return uri(name)
  }

  /// Runs `body` with the URI of a new, empty database.
  public func withDatabase<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    try await body(try await makeDatabase())
  }
}
