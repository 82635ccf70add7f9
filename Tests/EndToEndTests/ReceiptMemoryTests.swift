import Foundation
import Operations
import PushCore
import StoreSQLite
import Support
import Testing

/// Receipts are printed page by page: how many there are does not show in the memory of the program.
@Suite(
  "Memory of receipts", .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"),
  .timeLimit(.minutes(4)))
struct ReceiptMemoryTests {
  private static let count = 100_000
  /// SQLite's page cache of 8 MB, and what a page of receipts and its output take; all receipts at once would take twice as much.
  private static let allowedKilobytes = 14_336

  /// A sanitizer keeps what was freed, so that memory says nothing; `scripts/test` builds with one into a folder of its name.
  private static let isSanitized: Bool = {
    let path = (try? BuiltProgram("sendpush").path) ?? ""
    return path.contains("/.build/asan/") || path.contains("/.build/tsan/")
  }()

  @Test(
    "A hundred thousand receipts are printed in the memory of a few, from both stores and the same",
    .disabled(if: isSanitized, "the sanitizer keeps what was freed"))
  func bounded() async throws {
    try await PostgreSQLServer.running().withDatabase { uri in
      let desk = try await Desk()
      let (few, many) = try await fill(desk.directory.path(of: "relay.db"))
      let old = try await outputs(desk, few, many, store: "sqlite:relay.db")
      let moved = try await desk.run("pushrelay", "migrate", "--from", "sqlite:relay.db", "--store", uri)
      #expect(moved.status == 0, "\(moved.text)")
      let new = try await outputs(desk, few, many, store: uri)
      #expect(old == new)
    }
  }

  /// The lines of both forms, after a look at the memory they took.
  private func outputs(_ desk: Desk, _ few: NotificationID, _ many: NotificationID, store: String) async throws -> [Int]
  {
    var hashes: [Int] = []
    for form in ["--json", "--csv"] {
      let small = try await measure(desk, few, form, store)
      let large = try await measure(desk, many, form, store)
      #expect(large.lines == Self.count + (form == "--csv" ? 1 : 0))
      #expect(
        large.kilobytes - small.kilobytes < Self.allowedKilobytes,
        "\(form) from \(store): \(large.kilobytes) kB for \(Self.count), \(small.kilobytes) kB for 1")
      hashes.append(large.hash)
    }
    return hashes
  }

  /// Runs `sendpush receipts` below a program that tells the most memory its children had.
  private func measure(
    _ desk: Desk, _ id: NotificationID, _ form: String, _ store: String
  ) async throws -> (kilobytes: Int, lines: Int, hash: Int) {
    let script = """
      import resource, subprocess, sys
      with open('out', 'wb') as out:
          code = subprocess.call(sys.argv[1:], stdout=out)
      print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
      """
    let result = try await BuiltProgram(path: "/usr/bin/python3").run(
      [
        "-c", script, BuiltProgram("sendpush").path, "receipts", id.description, form, "--show-tokens", "--store",
        store,
      ],
      directory: desk.directory.path, deadline: .seconds(120))
    let words = (result.lines.first ?? "").split(separator: " ").compactMap { Int($0) }
    guard words.count == 2, words[0] == 0 else { throw SupportError("receipts: \(result.text)") }
    let output = try Data(contentsOf: URL(fileURLWithPath: desk.directory.path(of: "out")))
    return (words[1], output.count { $0 == 10 }, output.hashValue)
  }

  // MARK: The store

  /// Two finished notifications: for one device, and for a hundred thousand.
  private func fill(_ path: String) async throws -> (few: NotificationID, many: NotificationID) {
    let store = try await SQLiteStore.open(path)
    let topic = Desk.topic
    _ = try await store.bind([AppBinding(topic: topic, environment: .production, teamID: nil, keyID: nil)])
    let credential = try await store.credentials()[0].id
    // By hand, since registering them one after the other takes longer than all that is tested.
    let inserted = try await BuiltProgram(path: "/usr/bin/sqlite3").run([
      path,
      """
      PRAGMA busy_timeout=10000;
      WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<\(Self.count))
      INSERT INTO device(device_id,credential_id,token,registered_at) SELECT i<<24, \(credential.rawValue), printf('%064x',i), 1 FROM n;
      """,
    ])
    #expect(inserted.status == 0, "\(inserted.text)")
    let devices = (1...Self.count).map { DeviceID(Int64($0) << 24) }
    let few = try await deliver(store, topic, Array(devices.prefix(1)), credential)
    let many = try await deliver(store, topic, devices, credential)
    await store.close()
    return (few, many)
  }

  private func deliver(
    _ store: SQLiteStore, _ topic: String, _ devices: [DeviceID], _ credential: CredentialID
  ) async throws -> NotificationID {
    let result = try await store.publish(
      Publication(
        topic: topic, target: Target(interests: ["news"]), payload: Array("{}".utf8),
        headers: PushHeaders(pushType: .alert, priority: .low), lane: .bulk))
    let tasks = try await store.claim(
      ClaimRequest(
        lane: .bulk, owner: 1, lease: .seconds(600), window: nil, credentials: [credential], limit: 10))
    guard case .stored(let id, _) = result, let task = tasks.first else { throw SupportError("nothing to deliver") }
    for start in stride(from: 0, to: devices.count, by: 1000) {
      let part = Array(devices[start..<min(start + 1000, devices.count)])
      let exceptions = [
        ReceiptChunk.Exception(index: 0, status: 410, reason: ReasonID(30), outcome: .rejected)
      ]
      var counts = Counts()
      (counts.devices, counts.accepted, counts.rejected) = (part.count, part.count - 1, 1)
      let flush = TaskFlush(
        task: task.id, notificationID: id, epoch: task.epoch, settledBefore: Int64(start), attempt: 0,
        cursor: part[part.count - 1], count: part.count,
        receipts: .packed(ReceiptChunk(devices: part, exceptions: exceptions)), counts: counts, lists: [],
        ends: start + 1000 >= devices.count, cut: false)
      _ = try await store.flush([flush], retirements: [], owner: 1, lease: .seconds(600))
    }
    return id
  }
}
