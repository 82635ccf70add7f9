import Operations
import PushCore
import Support
import Testing

@testable import StorePostgreSQL

/// When a worker is called dead, and when not.
@Suite(.timeLimit(.minutes(2))) struct OwnerWatchTests {
  private let start = MonotonicTime(nanoseconds: 0)

  @Test("A lock that is free at two looks some time apart makes its owner dead, one that was taken again does not")
  func twoLooks() {
    var watch = OwnerWatch()
    #expect(watch.look([7, 8], trusted: start, at: start + .seconds(1)).isEmpty)
    #expect(watch.look([7, 8], trusted: start, at: start + .milliseconds(1799)).isEmpty)
    #expect(watch.look([7], trusted: start, at: start + .seconds(2)) == [7])
    #expect(watch.look([7, 8], trusted: start, at: start + .seconds(3)) == [7])
    #expect(watch.look([7, 8], trusted: start, at: start + .seconds(4)) == [7, 8])
  }

  @Test("While our own session is away, and until it stands again for a while, nobody is called dead")
  func untrusted() {
    var watch = OwnerWatch()
    #expect(watch.look([7], trusted: start, at: start).isEmpty)
    #expect(watch.look([7], trusted: nil, at: start + .seconds(1)).isEmpty)
    #expect(watch.look([7], trusted: start + .seconds(11), at: start + .seconds(10)).isEmpty)
    #expect(watch.look([7], trusted: start + .seconds(11), at: start + .seconds(11)).isEmpty)
    #expect(watch.look([7], trusted: start + .seconds(11), at: start + .seconds(12)) == [7])
  }
}

/// The locks in the database.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .serialized,
  .timeLimit(.minutes(2)))
struct OwnerLockTests {
  /// The locks of this database's owners.
  static let here =
    "WHERE classid=7261004 AND database=(SELECT oid FROM pg_database WHERE datname=current_database())"

  /// A store whose worker of this number is seen by others.
  private func worker(_ owner: Int64, _ location: PostgreSQLLocation) async throws -> PostgreSQLStore {
    let store = try await PostgreSQLStore.open(location)
    _ = try await store.claimExpired(owner: owner, lease: .seconds(15), limit: 1)
    await store.onNewWork { _ in }
    return store
  }

  /// The workers that the store has called dead and not forgotten yet.
  private func dead(_ store: PostgreSQLStore) async throws -> [Int64] {
    try await store.write { [bell = store.bell, watch = store.ownerWatch] (transaction) throws(StoreError) in
      let free = try transaction.ownersWithoutLock(except: bell.owners)
      return watch.withLock { $0.look(free, trusted: bell.trustedSince, at: SystemClocks().monotonicTime()) }
    }
  }

  @Test("A worker whose session is ended takes its lock again in time")
  func sessionEnded() async throws {
    try await Database.with { location, server in
      let store = try await PostgreSQLStore.open(location)
      let live = try await worker(7, location)
      let gone = try await worker(8, location)
      await gone.close()
      let ended = try await server.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_locks \(Self.here) AND objid=7",
        at: location.uri.reveal())
      #expect(ended == ["t"])
      await store.onNewWork { _ in }

      try await eventually("the other one is called dead") { try await dead(store).contains(8) }
      #expect(try await !dead(store).contains(7))
      try await eventually("it has its lock again") {
        try await server.sql(
          "SELECT count(*) FROM pg_locks \(Self.here) AND objid=7", at: location.uri.reveal()) == ["1"]
      }
      await live.close()
      await store.close()
    }
  }

  @Test("A lock that an earlier session of the same worker still has for the server is taken when that is over")
  func lingeringSession() async throws {
    try await Database.with { location, server in
      let former = try Connection(location, patience: .seconds(10), answerTime: .seconds(60))
      #expect(try OwnerLock.take(7, on: former))
      let live = try await worker(7, location)
      let held = "SELECT count(*) FROM pg_locks \(Self.here) AND objid=7 AND pid<>\(former.backendPID)"
      #expect(try await server.sql(held, at: location.uri.reveal()) == ["0"])

      try former.execute("SELECT pg_advisory_unlock_all()")
      try await eventually("it is taken") { try await server.sql(held, at: location.uri.reveal()) == ["1"] }
      await live.close()
    }
  }

  @Test("Another user's advisory locks change nothing")
  func otherLocks() async throws {
    try await Database.with { location, _ in
      let store = try await PostgreSQLStore.open(location)
      let gone = try await worker(8, location)
      await gone.close()
      let other = try Connection(location, patience: .seconds(10), answerTime: .seconds(60))
      try other.execute("SELECT pg_advisory_lock(8), pg_advisory_lock(8,8), pg_advisory_lock(7261001,8)")

      await store.onNewWork { _ in }
      try await eventually("it is called dead") { try await dead(store) == [8] }
      await store.close()
    }
  }

  @Test("A dead worker of which nothing is leased any more is forgotten")
  func forgotten() async throws {
    try await Database.with { location, server in
      let store = try await PostgreSQLStore.open(location)
      let live = try await worker(7, location)
      let gone = try await worker(8, location)
      await gone.close()
      await store.onNewWork { _ in }

      try await eventually("it is forgotten") {
        _ = try await store.reap(except: [])
        return try await server.sql("SELECT owner FROM pushrelay.worker", at: location.uri.reveal()) == ["7"]
      }
      await live.close()
      await store.close()
    }
  }
}
