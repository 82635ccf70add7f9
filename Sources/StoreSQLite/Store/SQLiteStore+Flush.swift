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
    guard let isCanceled = try settle(flush, owner: owner, lease: lease) else { return .lost }

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
    if flush.ends, !flush.lists.isEmpty { try run("DELETE FROM task WHERE task_id=?1", flush.task) }
    try account(counts, openTasks: tasks, cut: flush.cut, in: flush.notificationID)
    return isCanceled ? .canceled : .kept
  }

  /// The fence: changes the task's row if it is as the worker believes, or ends it; whether the notification is canceled, nil when the lease
  /// is lost. A task that leaves lists is ended after them: they are made from its row.
  private func settle(_ flush: TaskFlush, owner: Int64, lease: Duration) throws(StoreError) -> Bool? {
    if flush.ends, flush.lists.isEmpty {
      return try first(
        """
        DELETE FROM task WHERE task_id=?1 AND owner=?2 AND epoch=?3 AND state=1 AND settled=?4
        RETURNING EXISTS(SELECT 1 FROM notification_state s
          WHERE s.notification_id=task.notification_id AND s.canceled_at IS NOT NULL)
        """, flush.task, owner, flush.epoch, flush.settledBefore
      ) { $0.bool(0) }
    }
    return try first(
      """
      UPDATE task SET cursor=?5, settled=settled+?6, lease_until=?7+?8, claims=CASE WHEN ?6>0 THEN 0 ELSE claims END
      WHERE task_id=?1 AND owner=?2 AND epoch=?3 AND state=1 AND settled=?4
      RETURNING EXISTS(SELECT 1 FROM notification_state s
        WHERE s.notification_id=task.notification_id AND s.canceled_at IS NOT NULL)
      """, flush.task, owner, flush.epoch, flush.settledBefore, flush.cursor, flush.count, now, lease.wholeMilliseconds
    ) { $0.bool(0) }
  }

  private func insertReceipts(_ flush: TaskFlush) throws(StoreError) {
    switch flush.receipts {
    case .none: break
    case .packed(let chunk):
      let codes = chunk.encoded
      guard codes.count > Self.chunkBytes else { return try insert(chunk, codes, of: flush) }
      for part in chunk.split(into: (codes.count + Self.chunkBytes - 1) / Self.chunkBytes) {
        try insert(part, part.encoded, of: flush)
      }
    case .rows(let rows):
      for row in rows { try insert(row, of: flush) }
    }
  }

  /// Chunks are cut to about this size, so that five of them share a page of 4 KiB: of one page for 2.3 KB nearly half stays empty
  /// (4.1 instead of 2.6 bytes a device).
  private static let chunkBytes = 780

  private func insert(_ chunk: ReceiptChunk, _ codes: [UInt8], of flush: TaskFlush) throws(StoreError) {
    guard let first = chunk.devices.first, let last = chunk.devices.last else { return }
    try run(
      """
      INSERT INTO receipt_chunk(notification_id,attempt,first_device,last_device,n,at,codes)
      VALUES(?1,?2,?3,?4,?5,?6,?7)
      """, flush.notificationID, flush.attempt, first, last, chunk.devices.count, now, codes)
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

  /// Adds to a notification's sums, and to its tasks those that came or went; it is done when none is left.
  ///
  /// - Parameter cut: a range ended before its end, so the notification never becomes complete.
  func account(_ counts: Counts, openTasks delta: Int, cut: Bool, in id: NotificationID) throws(StoreError) {
    if counts == Counts(), delta == 0, !cut { return }
    try run(
      """
      UPDATE notification_state SET devices=devices+?2, accepted=accepted+?3, rejected=rejected+?4, expired=expired+?5,
        canceled=canceled+?6, failed=failed+?7, skipped=skipped+?8, open_tasks=open_tasks+?9, cut=cut OR ?10,
        done_at=CASE WHEN open_tasks+?9=0 THEN ?11 END
      WHERE notification_id=?1
      """, id, counts.devices, counts.accepted, counts.rejected, counts.expired, counts.canceled, counts.failed,
      counts.skipped, delta, cut, now)
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
    try account(Counts(), openTasks: ranges.count - 1, cut: false, in: present.id)
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
