import Operations
import PushCore

/// The advisory lock that shows a worker alive: the bell's session holds it, and the server frees it when that session ends.
///
/// Who has held his lock stands in `worker`; who does not stand there is never called dead. So a worker behind a pooler, where a session is
/// nobody's own, is left to its leases, and so is one of a version that knew no such lock.
enum OwnerLock {
  /// Takes the lock of an owner and notes that; false when an earlier session of the same worker is not over for the server yet.
  static func take(_ owner: Int64, on connection: Connection) throws(StoreError) -> Bool {
    let answer = try connection.execute(
      """
      SELECT CASE WHEN pg_backend_pid()<>\(connection.backendPID) THEN 'pooled'
        WHEN pg_try_advisory_lock(7261004,(\(owner) & 2147483647)::integer) THEN 'taken' END
      """)
    switch answer {
    case "taken":
      try connection.execute("INSERT INTO pushrelay.worker VALUES(\(owner)) ON CONFLICT DO NOTHING")
      return true
    case "pooled":
      // It may have had one before, by another of the URI's hosts.
      try connection.execute("DELETE FROM pushrelay.worker WHERE owner=\(owner)")
      return true
    default: return false
    }
  }
}

extension Transaction {
  /// The workers whose lock nobody holds at this moment; `own` are not looked at.
  func ownersWithoutLock(except own: [Int64]) throws(StoreError) -> [Int64] {
    // Shared, so that two that look at the same time do not take each other for the owner.
    try all(
      """
      SELECT owner FROM worker WHERE owner<>ALL($1)
        AND pg_try_advisory_xact_lock_shared(7261004,(owner & 2147483647)::integer)
      """, own
    ) { $0.integer(0) }
  }

  /// Forgets workers that are dead.
  func forget(owners: [Int64]) throws(StoreError) {
    try run("DELETE FROM worker WHERE owner=ANY($1)", owners)
  }
}

/// Decides which workers are dead: those whose lock was free at two looks some time apart.
///
/// A session that was cut is made again, and takes its lock again, in a fraction of that time. But when the server itself was away, all come
/// back, each at its own time: then nobody is called dead for longer than any of them may take.
struct OwnerWatch {
  /// The time between the looks: less than a second, in which every worker looks once.
  static let patience = Duration.milliseconds(800)
  /// How long nobody is called dead after our own session was made again: a lease, which decides alone meanwhile.
  static let patienceAfterReconnect = Duration.seconds(15)

  private var freeSince: [Int64: MonotonicTime] = [:]

  /// Takes in a look; gives the dead.
  ///
  /// - Parameter trusted: since when locks tell something; nil while our own session is away.
  mutating func look(_ free: [Int64], trusted: MonotonicTime?, at now: MonotonicTime) -> [Int64] {
    guard let trusted, trusted <= now else {
      freeSince = [:]
      return []
    }
    freeSince = Dictionary(uniqueKeysWithValues: free.map { ($0, freeSince[$0] ?? now) })
    return free.filter { now.since(freeSince[$0] ?? now) >= Self.patience }
  }
}
