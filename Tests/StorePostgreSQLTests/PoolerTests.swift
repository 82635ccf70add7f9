import Foundation
import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// A PgBouncer before the tests' server: a few sessions, given to whoever begins a transaction.
private enum Pooler {
  static let path = "/usr/sbin/pgbouncer"
  /// Under CI a missing one is a failure instead.
  static let isHere =
    FileManager.default.isExecutableFile(atPath: path) || ProcessInfo.processInfo.environment["CI"] == "true"

  private static let shared = Lock<Task<(folder: String, program: RunningProgram), any Error>?>(nil)

  /// The folder of its socket; started at the first call, ended with the tests' process.
  static func folder(_ server: PostgreSQLServer) async throws -> String {
    // Unstructured, so that no test's end cancels the start for the others; all of them await it.
    let running = shared.withLock { shared in
      let running = shared ?? Task { try await start(server) }
      shared = running
      return running
    }
    return try await running.value.folder
  }

  private static func start(_ server: PostgreSQLServer) async throws -> (folder: String, program: RunningProgram) {
    let folder = "\(server.folder)/pooler"
    let script = """
      set -eu
      mkdir \(folder)
      cat >\(folder)/pgbouncer.ini <<END
      [databases]
      * = host=\(server.folder) user=pushrelay
      [pgbouncer]
      listen_addr =
      listen_port = 6432
      unix_socket_dir = \(folder)
      auth_type = any
      pool_mode = transaction
      default_pool_size = 3
      max_client_conn = 1000
      END
      \(path) \(folder)/pgbouncer.ini &
      cat >/dev/null
      kill $!
      """
    let user = getuid() == 0 ? ["--reuid=postgres", "--regid=postgres", "--clear-groups"] : []
    let program = try BuiltProgram(path: "/usr/bin/setpriv").start(user + ["/bin/sh", "-c", script], directory: "/tmp")
    _ = try await program.errorLine(containing: "process up")
    return (folder, program)
  }
}

/// Behind a pooler in transaction mode the store shows the same behaviors, but for the wake-up between processes. Here those that need more
/// than one transaction or process.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil && Pooler.isHere, "pgbouncer or PostgreSQL's server is not installed"),
  .serialized)
struct PoolerTests {
  private static let behaviors =
    StoreBehavior.idempotency + StoreBehavior.leases + StoreBehavior.flushes + StoreBehavior.care

  /// Runs `body` with a database and its place behind the pooler.
  private func withPooler(
    _ body: (PostgreSQLLocation, PostgreSQLLocation) async throws -> Void
  ) async throws {
    try await Database.with { location, server in
      let folder = try await Pooler.folder(server)
      let uri = location.uri.reveal().replacingOccurrences(
        of: "host=\(server.folder)", with: "host=\(folder)&port=6432")
      try await body(location, PostgreSQLLocation(uri))
    }
  }

  @Test("Behind a pooler the store conforms", .timeLimit(.minutes(2)), arguments: behaviors)
  func conforms(_ behavior: StoreBehavior) async throws {
    try await withPooler { _, pooled in
      let clocks = DrivenClocks()
      let store = try await PostgreSQLStore.open(pooled, clocks: clocks)
      let fixture = StoreFixture(
        store: store, clocks: clocks, openAnother: { try await PostgreSQLStore.open(pooled, clocks: clocks) })
      try await behavior.check(fixture)
      await store.close()
    }
  }

  @Test("A worker behind a pooler takes no lock that the pooler could lose, and is never called dead")
  func noLock() async throws {
    try await withPooler { location, pooled in
      let direct = try await PostgreSQLStore.open(location)
      let store = try await PostgreSQLStore.open(pooled)
      for (owner, store) in [(7, direct), (8, store)] as [(Int64, PostgreSQLStore)] {
        _ = try await store.claimExpired(owner: owner, lease: .seconds(15), limit: 1)
        await store.onNewWork { _ in }
      }
      let other = try Connection(location, patience: .seconds(10), answerTime: .seconds(60))
      #expect(try other.execute("SELECT string_agg(owner::text,',') FROM pushrelay.worker") == "7")
      #expect(try other.execute("SELECT count(*) FROM pg_locks \(OwnerLockTests.here)") == "1")

      // Who is behind one sees the death of others all the same.
      await direct.close()
      try await eventually("the one that is not is called dead") {
        _ = try await store.reap(except: [])
        return try other.execute("SELECT count(*) FROM pushrelay.worker") == "0"
      }
      await store.close()
    }
  }
}
