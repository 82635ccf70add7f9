import Foundation
import Operations
import PushCore
import Support
import Testing

@testable import StoreSQLite

/// The files that show which workers live.
@Suite(.timeLimit(.minutes(1))) struct OwnerLocksTests {
  @Test("An owner whose lock is held lives; released he is dead until his file is removed")
  func lifeAndDeath() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")
    let first = OwnerLocks(database: path)
    let second = OwnerLocks(database: path)
    try first.hold(7)
    try first.hold(7)
    try second.hold(8)

    #expect(second.dead().isEmpty && first.dead().isEmpty)
    first.release()
    #expect(second.dead() == [7] && second.dead() == [7])
    second.remove([7])
    #expect(second.dead().isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["relay.db-worker-8"])
  }

  @Test("A process that draws the owner of another one that lives is refused")
  func sameOwner() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")
    let first = OwnerLocks(database: path)
    let second = OwnerLocks(database: path)
    try first.hold(7)

    #expect(throws: StoreError.self) { try second.hold(7) }
    first.release()
    try second.hold(7)
    #expect(first.dead().isEmpty)
  }

  @Test("What somebody put in the place of a lock is not followed, and calls nobody dead")
  func otherThings() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")
    let file = try directory.write("theirs", to: "theirs")
    for owner in [7, 8] { symlink(file, "\(path)-worker-\(owner)") }
    mkfifo("\(path)-worker-9", 0o600)
    mkdir("\(path)-worker-10", 0o700)
    try directory.write("", to: "relay.db-worker-11x")
    try directory.write("", to: "other.db-worker-12")
    let locks = OwnerLocks(database: path)

    #expect(locks.dead().isEmpty)
    try locks.hold(7)
    #expect(try String(contentsOfFile: file, encoding: .utf8) == "theirs")
    #expect(OwnerLocks(database: path).dead().isEmpty)
  }

  @Test("A worker that could have no lock is left to its leases")
  func withoutLock() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")
    symlink("/nowhere", "\(path)-worker-7")
    var locks: OwnerLocks? = OwnerLocks(database: path)
    try locks?.hold(7)
    unlink("\(path)-worker-7")
    // Not tried again: from now on it may have leases.
    try locks?.hold(7)
    locks = nil

    #expect(OwnerLocks(database: path).dead().isEmpty)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
  }

  @Test(
    "Locks lie beside a database that is named without a folder, in any script", arguments: ["relay", "re\u{301}lé-中"])
  func noFolder(_ beginning: String) throws {
    let name = "\(beginning)-\(UUID().uuidString).db"
    let locks = OwnerLocks(database: name)
    try locks.hold(7)
    locks.release()
    #expect(OwnerLocks(database: name).dead() == [7])
    #expect(OwnerLocks(database: "./\(name)").dead() == [7])
    locks.remove([7])
    #expect(OwnerLocks(database: name).dead().isEmpty)
  }

  @Test("The file of a dead worker goes when nothing of it is leased any more, at a look of whoever comes next")
  func files() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      func workers() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.contains("-worker-") }
      }
      let first = try await SQLiteStore.open(path)
      _ = try await first.claimExpired(owner: 7, lease: .seconds(15), limit: 1)
      #expect(try workers() == ["relay.db-worker-7"])
      await first.close()
      #expect(try workers() == ["relay.db-worker-7"])

      let second = try await SQLiteStore.open(path)
      _ = try await second.claimExpired(owner: 8, lease: .seconds(15), limit: 1)
      #expect(try await second.reap(except: []).isEmpty)
      #expect(try workers() == ["relay.db-worker-8"])
      await second.close()
    }
  }
}
