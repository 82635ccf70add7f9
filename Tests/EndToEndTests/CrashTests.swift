import Foundation
import Glibc
import JSON
import Support
import Testing

/// Two relays send one notification while something fails; `scripts/crash` does the same in large.
@Suite("Two relays on one store", .serialized, .timeLimit(.minutes(5)))
struct CrashTests {
  private static let count = 12_000
  /// What a relay has with APNs at most, and in one flush on a slow machine.
  private static let openAtMost: Int64 = 3000
  private static let apns = ["--no-checks", "--delay", "40ms"]

  @Test(
    "killed in the middle, a relay loses nothing and doubles only what it had with APNs", arguments: StoreKind.present)
  func killed(_ kind: StoreKind) async throws {
    try await kind.withSite(simulatorOptions: Self.apns) { site, store in
      let id = try await Self.prepare(site, store)
      var relays = try await Self.start(site)
      for turn in 0..<2 {
        try await Self.reach(Self.count * (turn + 1) / 4, id, site)
        relays[turn].signal(SIGKILL)
        _ = try await relays[turn].result()
        relays[turn] = try await site.serve()
      }

      try await Self.end(id, site, store, relays, doubledAtMost: 2 * Self.openAtMost)
    }
  }

  @Test(
    "stopped beyond its lease and continued, a relay sends and writes nothing of what another has taken over",
    arguments: StoreKind.present)
  func stopped(_ kind: StoreKind) async throws {
    try await kind.withSite(simulatorOptions: Self.apns) { site, store in
      let id = try await Self.prepare(site, store)
      let relays = try await Self.start(site, "--log-level", "debug")
      _ = try await relays[0].errorLine(containing: "receipts written", within: .seconds(60))
      relays[0].signal(SIGSTOP)
      let status = try await Self.final(id, site)
      #expect(status.count("accepted") == Self.count)

      relays[0].signal(SIGCONT)
      _ = try await relays[0].errorLine(containing: "lease lost", within: .seconds(60))

      try await Self.end(id, site, store, relays, doubledAtMost: Self.openAtMost)
    }
  }

  @Test(
    "while PostgreSQL is killed and comes back, twice, nothing is lost and nothing doubled",
    .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"))
  func serverKilled() async throws {
    try await PostgreSQLServer.with { server in
      let site = try await Site(simulatorOptions: Self.apns)
      let uri = try await server.makeDatabase()
      try site.writeConfiguration(store: uri)
      let store = StoreShell(uri: uri)
      let id = try await Self.prepare(site, store)
      let relays = try await Self.start(site)
      for turn in 1...2 {
        try await Self.reach(Self.count * turn / 3, id, site)
        try await server.order("-m immediate stop")
        try await server.order("start")
      }

      try await Self.end(id, site, store, relays, doubledAtMost: 0)
    }
  }

  @Test(
    "when PostgreSQL dies for good and its standby takes over, the relays go on there: nothing is lost and nothing doubled",
    .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"))
  func failover() async throws {
    try await PostgreSQLServer.withStandby { primary, standby in
      let site = try await Site(simulatorOptions: Self.apns)
      let database = try await primary.makeDatabase()
      let uri = database.replacing(
        primary.folder, with: "\(primary.folder),\(standby.folder)&target_session_attrs=read-write")
      try site.writeConfiguration(store: uri)
      let store = StoreShell(uri: uri)
      let id = try await Self.prepare(site, store)
      let relays = try await Self.start(site)
      try await Self.reach(Self.count / 3, id, site)

      try await primary.order("-m immediate stop")
      try await standby.order("promote")

      try await Self.end(id, site, store, relays, doubledAtMost: 0)
    }
  }

  @Test(
    "while another program keeps all from writing, everything waits and nothing is doubled",
    arguments: StoreKind.present)
  func foreignLock(_ kind: StoreKind) async throws {
    try await kind.withSite(simulatorOptions: Self.apns) { site, store in
      let id = try await Self.prepare(site, store)
      let relays = try await Self.start(site)
      try await Self.reach(Self.count / 4, id, site)

      let words =
        switch kind {
        case .sqlite: "BEGIN IMMEDIATE"
        case .postgresql: "BEGIN; LOCK TABLE task IN EXCLUSIVE MODE"
        }
      try await store.whileLocked(words) {
        let before = try await Self.accepted(id, site)
        // Each look takes a process: some seconds, in which both send what they may and then wait.
        for _ in 0..<30 { #expect(try await Self.accepted(id, site) == before) }
      }

      try await Self.end(id, site, store, relays, doubledAtMost: 0)
    }
  }

  @Test("on a full disk nothing more is accepted or sent, and with room again nothing is lost or doubled")
  func fullDisk() async throws {
    try await StoreKind.sqlite.withSite(simulatorOptions: Self.apns) { site, store in
      let id = try await Self.prepare(site, store)
      let shell = BuiltProgram(path: "/bin/sh")
      // The signal of a quota would end them: on a full disk there is none.
      let words = ["-c", #"trap '' XFSZ; exec "$0" "$@""#]
      var relays: [RunningProgram] = []
      for _ in 0..<2 {
        let relay = try shell.start(words + [site.pushrelay.path, "serve"], directory: site.directory.path)
        _ = try await relay.errorLine(containing: "serving")
        relays.append(relay)
      }
      try await Self.reach(Self.count / 4, id, site)

      try await Self.limit(relays, to: "0:")
      for relay in relays { _ = try await relay.errorLine(containing: "the store fails") }
      // No TMPDIR: ThreadSanitizer would map a file there that it could not write.
      let refused = try await shell.run(
        [
          "-c", #"trap '' XFSZ; ulimit -f 0; TMPDIR=/nonexistent exec "$0" "$@""#, site.sendpush.path, "enqueue",
          "--interest", "news", "--title", "Hello",
        ], directory: site.directory.path)
      #expect(refused.status == 75 && refused.output.isEmpty, "\(refused.text)")
      try await Self.limit(relays, to: "unlimited:")
      for relay in relays { _ = try await relay.errorLine(containing: "the store works again") }

      try await Self.end(id, site, store, relays, doubledAtMost: 0)
      #expect(try await store.query("SELECT count(*) FROM notification") == ["1"])
    }
  }

  // MARK: Steps

  /// Registers the devices and enqueues a notification to all of them, in ten ranges: a relay takes four at a time.
  private static func prepare(_ site: Site, _ store: StoreShell) async throws -> String {
    try await site.importDevices((1...count).map(Site.token), interest: "news")
    try await store.query("UPDATE interest SET approx_size=250000")
    return try await site.sendpush("enqueue", "--interest", "news", "--title", "Hello", "--lane", "bulk").lines[0]
  }

  private static func start(_ site: Site, _ options: String...) async throws -> [RunningProgram] {
    let relays = try (0..<2).map { _ in
      try site.pushrelay.start(["serve"] + options, directory: site.directory.path)
    }
    for relay in relays { _ = try await relay.errorLine(containing: "serving") }
    return relays
  }

  private static func counts(_ id: String, _ site: Site, _ options: [String] = []) async throws -> JSONValue {
    let result = try await site.sendpush.run(
      ["status", id, "--json"] + options, directory: site.directory.path, deadline: .seconds(200))
    return try result.json().first?["counts"] ?? JSONValue(parsing: Array("{}".utf8))
  }

  private static func accepted(_ id: String, _ site: Site) async throws -> Int64 {
    try await counts(id, site).count("accepted")
  }

  private static func reach(_ number: Int, _ id: String, _ site: Site) async throws {
    try await eventually(within: .seconds(100), "\(number) receipts are written") {
      try await accepted(id, site) >= number
    }
  }

  private static func final(_ id: String, _ site: Site) async throws -> JSONValue {
    try await counts(id, site, ["--wait", "--timeout", "180s"])
  }

  /// The quota of files that the relays write, as prlimit(1) says it.
  private static func limit(_ relays: [RunningProgram], to quota: String) async throws {
    for relay in relays {
      let result = try await BuiltProgram(path: "/usr/bin/prlimit").run([
        "--pid", "\(relay.processID)", "--fsize=\(quota)",
      ])
      guard result.status == 0 else { throw SupportError("prlimit: \(result.errorOutput)") }
    }
  }

  /// Waits for the end, ends the relays, and checks that each device has one receipt, accepted.
  private static func end(
    _ id: String, _ site: Site, _ store: StoreShell, _ relays: [RunningProgram], doubledAtMost limit: Int64
  ) async throws {
    let counts = try await final(id, site)
    for relay in relays { relay.signal(SIGTERM) }
    for relay in relays {
      let end = try await relay.result()
      #expect(end.status == 0, "\(end.text)")
    }
    #expect(counts.count("devices") == count && counts.count("accepted") == count, "\(counts)")
    let receipts = try await site.sendpush("receipts", id, "--csv", "--show-tokens", deadline: .seconds(120)).lines
    #expect(receipts.count == count + 1 && Set(receipts.dropFirst()).count == count)
    #expect(receipts.dropFirst().allSatisfy { $0.contains(",accepted,") })
    #expect(try await store.query("SELECT sum(n) FROM receipt_chunk") == ["\(count)"])
    #expect(try await store.query("SELECT count(*) FROM task") == ["0"])
    let summary = try await site.summary()
    #expect(summary.count("distinct_devices") == count)
    #expect(summary.count("duplicates") <= limit, "\(summary)")
    #expect(summary.count("requests") - Int64(count) == summary.count("duplicates"))
  }
}
