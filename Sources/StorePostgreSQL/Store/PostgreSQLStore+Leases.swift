import Operations
import PushCore

extension PostgreSQLStore {
  /// Renews leases that still hold.
  public func renew(
    _ leases: [LeaseReference], owner: Int64, lease: Duration
  ) async throws(StoreError) -> [LeaseState] {
    try await write { (transaction) throws(StoreError) in
      try transaction.renew(leases, owner: owner, lease: lease)
    }
  }

  /// Gives a task back uncounted.
  public func release(_ lease: LeaseReference, to: ReleaseTo, owner: Int64) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in try transaction.release(lease, to: to, owner: owner) }
  }

  /// Gives a range task back as several; the ranges must join and end where the task ends.
  public func split(
    _ lease: LeaseReference, into ranges: [(lo: DeviceID, hi: DeviceID)], lane: Lane, owner: Int64
  ) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      try transaction.split(lease, into: ranges, lane: lane, owner: owner)
    }
  }
}

extension Transaction {
  fileprivate func renew(
    _ leases: [LeaseReference], owner: Int64, lease: Duration
  ) throws(StoreError) -> [LeaseState] {
    guard !leases.isEmpty else { return [] }
    let rows = try all(
      """
      UPDATE task SET lease_until=$2 FROM unnest($3,$4) f(task_id,epoch)
      WHERE task.task_id=f.task_id AND task.task_id=ANY($3) AND task.owner=$1 AND task.epoch=f.epoch AND task.state=1
      RETURNING task.task_id, (SELECT s.canceled_at IS NOT NULL FROM notification_state s
        WHERE s.notification_id=task.notification_id)
      """, owner, after(lease), leases.map(\.task), leases.map(\.epoch)
    ) { (TaskID($0.integer(0)), $0.bool(1)) }
    let canceled = Dictionary(uniqueKeysWithValues: rows)
    return leases.map { lease in
      switch canceled[lease.task] {
      case true?: .canceled
      case false?: .kept
      case nil: .lost
      }
    }
  }

  fileprivate func release(_ lease: LeaseReference, to: ReleaseTo, owner: Int64) throws(StoreError) -> Bool {
    var lane: Lane?
    var state = TaskState.held
    if case .ready(let given) = to { (lane, state) = (given, .ready) }
    let released = try run(
      """
      UPDATE task SET state=$4, lane=coalesce($5,lane), owner=NULL, claims=greatest(claims-1,0),
        due_at=greatest(due_at,$6)
      WHERE task_id=$1 AND owner=$2 AND epoch=$3 AND state=1
      """, lease.task, owner, lease.epoch, state, lane, UnixMilliseconds(now.value - 30_000))
    if released == 1, let lane { wake(lane) }
    return released == 1
  }

  /// The first range stays with the task, each further one becomes a task.
  fileprivate func split(
    _ lease: LeaseReference, into ranges: [(lo: DeviceID, hi: DeviceID)], lane: Lane, owner: Int64
  ) throws(StoreError) -> Bool {
    let present = try first(
      """
      SELECT notification_id, cursor, hi FROM task
      WHERE task_id=$1 AND owner=$2 AND epoch=$3 AND state=1 AND list IS NULL FOR UPDATE
      """, lease.task, owner, lease.epoch
    ) { (id: NotificationID($0.integer(0)), cursor: DeviceID($0.integer(1)), hi: DeviceID($0.integer(2))) }
    guard let present else { return false }
    guard let first = ranges.first, ranges.last?.hi == present.hi, first.lo <= present.cursor,
      zip(ranges, ranges.dropFirst()).allSatisfy({ $0.hi == $1.lo && $0.lo < $0.hi })
    else {
      throw StoreError(
        code: .internal, operation: connection.name, underlying: "the ranges of a split leave devices out",
        remedy: "This is a bug: please report it with this message.")
    }
    let further = ranges.dropFirst()
    try run(
      """
      INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,attempt,tries,seq_hi,lo,hi,cursor)
      SELECT t.notification_id, t.app_id, t.credential_id, $2, $3, t.expires_at, t.attempt, t.tries, t.seq_hi, r.lo, r.hi, r.lo
      FROM task t, unnest($4,$5) r(lo,hi) WHERE t.task_id=$1
      """, lease.task, lane, now, further.map(\.lo), further.map(\.hi))
    try run(
      "UPDATE task SET hi=$2, lane=$3, due_at=$4, state=0, owner=NULL, claims=0 WHERE task_id=$1", lease.task, first.hi,
      lane, now)
    var ledger = Ledger()
    ledger.add(Counts(), openTasks: further.count, cut: false, in: present.id)
    try ledger.write(to: self, slot: 0)
    wake(lane)
    return true
  }
}
