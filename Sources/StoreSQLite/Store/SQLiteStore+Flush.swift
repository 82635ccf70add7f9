import Operations
import PushCore

extension SQLiteStore {
  /// Writes the news of tasks, each fenced by owner, epoch and number of receipts, and retires devices; one transaction.
  public func flush(
    _ flushes: [TaskFlush], retirements: [Retirement], owner: Int64, lease: Duration
  ) async throws(StoreError) -> [LeaseState] {
    try await write { (transaction) throws(StoreError) in
      var states: [LeaseState] = []
      states.reserveCapacity(flushes.count)
      for flush in flushes { states.append(try transaction.flush(flush, owner: owner, lease: lease)) }
      for retirement in retirements { try transaction.retire(retirement) }
      return states
    }
  }

  /// Renews leases that still hold.
  public func renew(
    _ leases: [LeaseReference], owner: Int64, lease: Duration
  ) async throws(StoreError) -> [LeaseState] {
    try await write { (transaction) throws(StoreError) in
      var states: [LeaseState] = []
      for reference in leases { states.append(try transaction.renew(reference, owner: owner, lease: lease)) }
      return states
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

  /// The number of a text, given at its first use, from 1000 on.
  public func reasonID(for text: String) async throws(StoreError) -> ReasonID {
    try await write { (transaction) throws(StoreError) in try transaction.reasonID(for: text) }
  }
}

extension Transaction {
  // MARK: Flush

  /// Writes the news of a task, if its lease and its number of receipts are what the worker believes them to be.
  fileprivate func flush(_ flush: TaskFlush, owner: Int64, lease: Duration) throws(StoreError) -> LeaseState {
    let canceled = try first(
      """
      UPDATE task SET cursor=?5, settled=settled+?6, lease_until=?7+?8, claims=CASE WHEN ?6>0 THEN 0 ELSE claims END
      WHERE task_id=?1 AND owner=?2 AND epoch=?3 AND state=1 AND settled=?4
      RETURNING EXISTS(SELECT 1 FROM notification_state s
        WHERE s.notification_id=task.notification_id AND s.canceled_at IS NOT NULL)
      """, flush.task, owner, flush.epoch, flush.settledBefore, flush.cursor, flush.count, now, lease.wholeMilliseconds
    ) { $0.bool(0) }
    guard let isCanceled = canceled else { return .lost }

    try insertReceipts(flush)
    var counts = flush.counts
    var tasks = flush.ends ? -1 : 0
    if isCanceled {
      // No later attempt follows: what would have waited for one is canceled now.
      counts.canceled += flush.lists.reduce(0) { $0 + $1.devices.count }
    } else {
      for list in flush.lists { try insert(list, of: flush.task) }
      tasks += flush.lists.count
    }
    if flush.ends { try run("DELETE FROM task WHERE task_id=?1", flush.task) }
    try account(counts, in: flush.notificationID)
    if tasks != 0 || flush.ends { try changeOpenTasks(of: flush.notificationID, by: tasks, cut: flush.cut) }
    return isCanceled ? .canceled : .kept
  }

  private func insertReceipts(_ flush: TaskFlush) throws(StoreError) {
    switch flush.receipts {
    case .none: break
    case .packed(let chunk):
      guard let first = chunk.devices.first, let last = chunk.devices.last else { return }
      try run(
        """
        INSERT INTO receipt_chunk(notification_id,attempt,first_device,last_device,n,at,codes)
        VALUES(?1,?2,?3,?4,?5,?6,?7)
        """, flush.notificationID, flush.attempt, first, last, chunk.devices.count, now, chunk.encoded)
    case .rows(let rows):
      for row in rows { try insert(row, of: flush) }
    }
  }

  private func insert(_ row: ReceiptRow, of flush: TaskFlush) throws(StoreError) {
    try run(
      """
      INSERT INTO receipt(notification_id,device_id,attempt,tries,outcome,status,reason,at,latency_ms,apns_unique_id)
      VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)
      ON CONFLICT(notification_id,device_id) DO UPDATE SET attempt=excluded.attempt, tries=excluded.tries,
        outcome=excluded.outcome, status=excluded.status, reason=excluded.reason, at=excluded.at,
        latency_ms=excluded.latency_ms, apns_unique_id=excluded.apns_unique_id
      WHERE receipt.attempt<excluded.attempt
      """, flush.notificationID, row.device, flush.attempt, row.tries, row.outcome, row.status, row.reason, now,
      row.latencyMilliseconds, row.apnsUniqueID)
  }

  private func insert(_ list: NewList, of task: TaskID) throws(StoreError) {
    guard let first = list.devices.first, let last = list.devices.last else { return }
    try run(
      """
      INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,attempt,tries,lo,hi,cursor,list,n,state)
      SELECT notification_id,app_id,?2,lane,?3,expires_at,attempt+1,tries+?4,?5,?6,?5,?7,?8,?9 FROM task WHERE task_id=?1
      """, task, list.credentialID, now.value + list.delay.wholeMilliseconds, list.isCounted, first.rawValue - 1, last,
      DeltaVarint.encode(list: list.devices), list.devices.count, list.isHeld ? TaskState.held : .ready)
  }

  fileprivate func retire(_ retirement: Retirement) throws(StoreError) {
    let credential = try first(
      """
      UPDATE device SET retired_at=?2, retired_reason=?3
      WHERE device_id=?1 AND retired_at IS NULL AND registered_at<?4 RETURNING credential_id, registered_at>0
      """, retirement.device, now, retirement.reason, retirement.registeredBefore
    ) { $0.bool(1) ? CredentialID($0.integer(0)) : nil }
    if let counted = credential ?? nil { try countDevices(of: counted, by: -1) }
  }

  // MARK: Sums

  /// Adds to a notification's sums.
  func account(_ counts: Counts, in id: NotificationID) throws(StoreError) {
    guard counts != Counts() else { return }
    try run(
      """
      UPDATE notification_state SET devices=devices+?2, accepted=accepted+?3, rejected=rejected+?4, expired=expired+?5,
        canceled=canceled+?6, failed=failed+?7, skipped=skipped+?8
      WHERE notification_id=?1
      """, id, counts.devices, counts.accepted, counts.rejected, counts.expired, counts.canceled, counts.failed,
      counts.skipped)
  }

  /// Counts tasks that came or went; the notification is done when none is left.
  func changeOpenTasks(of id: NotificationID, by delta: Int, cut: Bool) throws(StoreError) {
    try run(
      """
      UPDATE notification_state SET open_tasks=open_tasks+?2, cut=cut OR ?3,
        done_at=CASE WHEN open_tasks+?2=0 THEN ?4 END
      WHERE notification_id=?1
      """, id, delta, cut, now)
  }

  // MARK: Leases

  fileprivate func renew(_ reference: LeaseReference, owner: Int64, lease: Duration) throws(StoreError) -> LeaseState {
    let canceled = try first(
      """
      UPDATE task SET lease_until=?4+?5 WHERE task_id=?1 AND owner=?2 AND epoch=?3 AND state=1
      RETURNING EXISTS(SELECT 1 FROM notification_state s
        WHERE s.notification_id=task.notification_id AND s.canceled_at IS NOT NULL)
      """, reference.task, owner, reference.epoch, now, lease.wholeMilliseconds
    ) { $0.bool(0) }
    guard let isCanceled = canceled else { return .lost }
    return isCanceled ? .canceled : .kept
  }

  fileprivate func release(_ lease: LeaseReference, to: ReleaseTo, owner: Int64) throws(StoreError) -> Bool {
    var lane: Lane?
    var state = TaskState.held
    if case .ready(let given) = to { (lane, state) = (given, .ready) }
    let released = try run(
      """
      UPDATE task SET state=?4, lane=coalesce(?5,lane), owner=NULL, claims=max(claims-1,0), due_at=max(due_at,?6-30000)
      WHERE task_id=?1 AND owner=?2 AND epoch=?3 AND state=1
      """, lease.task, owner, lease.epoch, state, lane, now)
    if released == 1, let lane { wake(lane) }
    return released == 1
  }

  /// The first range stays with the task, each further one becomes a task.
  fileprivate func split(
    _ lease: LeaseReference, into ranges: [(lo: DeviceID, hi: DeviceID)], lane: Lane, owner: Int64
  ) throws(StoreError) -> Bool {
    let present = try first(
      "SELECT notification_id, cursor, hi FROM task WHERE task_id=?1 AND owner=?2 AND epoch=?3 AND state=1 AND list IS NULL",
      lease.task, owner, lease.epoch
    ) { (id: NotificationID($0.integer(0)), cursor: DeviceID($0.integer(1)), hi: DeviceID($0.integer(2))) }
    guard let present else { return false }
    guard let first = ranges.first, ranges.last?.hi == present.hi, first.lo <= present.cursor,
      zip(ranges, ranges.dropFirst()).allSatisfy({ $0.hi == $1.lo && $0.lo < $0.hi })
    else {
      throw StoreError(
        code: .internal, operation: connection.name, underlying: "the ranges of a split leave devices out",
        remedy: "This is a bug: please report it with this message.")
    }
    for range in ranges.dropFirst() {
      try run(
        """
        INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,attempt,tries,seq_hi,lo,hi,cursor)
        SELECT notification_id,app_id,credential_id,?2,?3,expires_at,attempt,tries,seq_hi,?4,?5,?4 FROM task WHERE task_id=?1
        """, lease.task, lane, now, range.lo, range.hi)
    }
    try run(
      "UPDATE task SET hi=?2, lane=?3, due_at=?4, state=0, owner=NULL, claims=0 WHERE task_id=?1", lease.task, first.hi,
      lane, now)
    if ranges.count > 1 { try changeOpenTasks(of: present.id, by: ranges.count - 1, cut: false) }
    wake(lane)
    return true
  }

  // MARK: Reasons

  fileprivate func reasonID(for text: String) throws(StoreError) -> ReasonID {
    let present = try first("SELECT reason_id FROM reason WHERE text=?1", text) { $0.integer(0) }
    if let present { return ReasonID(Int32(truncatingIfNeeded: present)) }
    let made = try first("INSERT INTO reason(text) VALUES(?1) RETURNING reason_id", text) { $0.integer(0) }
    return ReasonID(Int32(truncatingIfNeeded: made ?? 0))
  }
}
