import Operations
import PushCore

extension PostgreSQLStore {
  /// Writes the news of tasks, each fenced by owner, epoch and number of receipts, and retires devices; one transaction.
  public func flush(
    _ flushes: [TaskFlush], retirements: [Retirement], owner: Int64, lease: Duration
  ) async throws(StoreError) -> [LeaseState] {
    try await write { (transaction) throws(StoreError) in
      let states = try FlushBatch(transaction, owner: owner, lease: lease).write(flushes)
      try transaction.retire(retirements)
      return states
    }
  }

  /// The number of a text, given at its first use, from 1000 on.
  public func reasonID(for text: String) async throws(StoreError) -> ReasonID {
    try await write { (transaction) throws(StoreError) in try transaction.reasonID(for: text) }
  }
}

/// The flushes of one call: a statement for all of them, not one for each.
private struct FlushBatch {
  private let transaction: Transaction
  private let owner: Int64
  private let lease: Duration

  init(_ transaction: Transaction, owner: Int64, lease: Duration) {
    self.transaction = transaction
    self.owner = owner
    self.lease = lease
  }

  func write(_ flushes: [TaskFlush]) throws(StoreError) -> [LeaseState] {
    let states = try settle(flushes)
    let written = zip(flushes, states).filter { $0.1 != .lost && $0.1 != .writtenBefore }.map {
      (flush: $0.0, state: $0.1)
    }
    try insertReceipts(written.map(\.flush))
    try insertLists(written.filter { $0.state == .kept }.map(\.flush))
    try delete(written.map(\.flush).filter { $0.ends && !$0.lists.isEmpty })
    var ledger = Ledger()
    for (flush, state) in written { add(flush, isCanceled: state == .canceled, to: &ledger) }
    try ledger.write(to: transaction, slot: Int(owner & 15))
    return states.map(\.leaseState)
  }

  // MARK: Fence

  /// What the fence found.
  private enum Fenced {
    case kept
    case canceled
    case lost
    /// The same flush was committed, and its answer lost.
    case writtenBefore

    var leaseState: LeaseState {
      switch self {
      case .kept, .writtenBefore: .kept
      case .canceled: .canceled
      case .lost: .lost
      }
    }
  }

  /// Changes the rows of tasks that are as the worker believes, or ends them. A task that leaves lists is ended after them: they are made from
  /// its row.
  private func settle(_ flushes: [TaskFlush]) throws(StoreError) -> [Fenced] {
    let canceled =
      try update(flushes.filter { !$0.ends || !$0.lists.isEmpty })
      .merging(try end(flushes.filter { $0.ends && $0.lists.isEmpty })) { first, _ in first }
    let missing = flushes.filter { canceled[$0.task] == nil }
    let repeated = transaction.mayBeRepeated && !missing.isEmpty ? try writtenBefore(missing) : []
    return flushes.map { flush in
      switch canceled[flush.task] {
      case true?: .canceled
      case false?: .kept
      case nil: repeated.contains(flush.task) ? .writtenBefore : .lost
      }
    }
  }

  private func update(_ flushes: [TaskFlush]) throws(StoreError) -> [TaskID: Bool] {
    guard !flushes.isEmpty else { return [:] }
    let rows = try transaction.all(
      """
      UPDATE task SET cursor=f.cursor, settled=task.settled+f.n, lease_until=$2,
        claims=CASE WHEN f.n>0 THEN 0 ELSE task.claims END
      FROM unnest($3,$4,$5,$6,$7) f(task_id,epoch,settled,cursor,n)
      WHERE task.task_id=f.task_id AND task.task_id=ANY($3) AND task.owner=$1 AND task.epoch=f.epoch AND task.state=1
        AND task.settled=f.settled
      RETURNING task.task_id, (SELECT s.canceled_at IS NOT NULL FROM notification_state s
        WHERE s.notification_id=task.notification_id)
      """, owner, transaction.after(lease), flushes.map(\.task), flushes.map(\.epoch), flushes.map(\.settledBefore),
      flushes.map(\.cursor), flushes.map(\.count)
    ) { (TaskID($0.integer(0)), $0.bool(1)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  private func end(_ flushes: [TaskFlush]) throws(StoreError) -> [TaskID: Bool] {
    guard !flushes.isEmpty else { return [:] }
    let rows = try transaction.all(
      """
      DELETE FROM task USING unnest($2,$3,$4) f(task_id,epoch,settled)
      WHERE task.task_id=f.task_id AND task.task_id=ANY($2) AND task.owner=$1 AND task.epoch=f.epoch AND task.state=1
        AND task.settled=f.settled
      RETURNING task.task_id, (SELECT s.canceled_at IS NOT NULL FROM notification_state s
        WHERE s.notification_id=task.notification_id)
      """, owner, flushes.map(\.task), flushes.map(\.epoch), flushes.map(\.settledBefore)
    ) { (TaskID($0.integer(0)), $0.bool(1)) }
    return Dictionary(uniqueKeysWithValues: rows)
  }

  /// Of flushes that the fence refused, those that a commit without an answer had written: the task has just their receipts more, or ended
  /// with them. A lease cannot have passed to another worker and its task ended within the few seconds that a call is repeated.
  private func writtenBefore(_ flushes: [TaskFlush]) throws(StoreError) -> Set<TaskID> {
    let rows = try transaction.all(
      "SELECT task_id, owner, epoch, settled, state FROM task WHERE task_id=ANY($1)", flushes.map(\.task)
    ) { row in
      (
        task: TaskID(row.integer(0)), owner: row.integer(1), epoch: row.integer(2), settled: row.integer(3),
        state: row.integer(4)
      )
    }
    let written = flushes.filter { flush in
      guard let row = rows.first(where: { $0.task == flush.task }) else { return flush.ends }
      return !flush.ends && row.owner == owner && row.epoch == flush.epoch && row.state == TaskState.leased.rawValue
        && row.settled == flush.settledBefore + Int64(flush.count)
    }
    return Set(written.map(\.task))
  }

  // MARK: Receipts

  /// Chunks are cut to about this size: a row beyond 2 kB would be moved out to a table of its own.
  private static let chunkBytes = 1900

  private func insertReceipts(_ flushes: [TaskFlush]) throws(StoreError) {
    var chunks: [(flush: TaskFlush, chunk: ReceiptChunk, codes: [UInt8])] = []
    var rows: [(flush: TaskFlush, row: ReceiptRow)] = []
    for flush in flushes {
      switch flush.receipts {
      case .none: break
      case .packed(let chunk):
        let codes = chunk.encoded
        if codes.count <= Self.chunkBytes {
          chunks.append((flush, chunk, codes))
        } else {
          let parts = chunk.split(into: (codes.count + Self.chunkBytes - 1) / Self.chunkBytes)
          chunks += parts.map { (flush, $0, $0.encoded) }
        }
      case .rows(let receipts): rows += receipts.map { (flush, $0) }
      }
    }
    try insert(chunks.filter { !$0.chunk.devices.isEmpty })
    try insert(rows)
  }

  private func insert(_ chunks: [(flush: TaskFlush, chunk: ReceiptChunk, codes: [UInt8])]) throws(StoreError) {
    guard !chunks.isEmpty else { return }
    try transaction.run(
      """
      INSERT INTO receipt_chunk(notification_id,attempt,first_device,last_device,n,at,codes)
      SELECT u.id, u.attempt, u.low, u.high, u.n, $1, u.codes FROM unnest($2,$3,$4,$5,$6,$7) u(id,attempt,low,high,n,codes)
      """, transaction.now, chunks.map(\.flush.notificationID), chunks.map(\.flush.attempt),
      chunks.map { $0.chunk.devices[0] }, chunks.map { $0.chunk.devices[$0.chunk.devices.count - 1] },
      chunks.map(\.chunk.devices.count), chunks.map(\.codes))
  }

  private func insert(_ rows: [(flush: TaskFlush, row: ReceiptRow)]) throws(StoreError) {
    guard !rows.isEmpty else { return }
    try transaction.run(
      """
      INSERT INTO receipt AS x(notification_id,device_id,attempt,tries,outcome,status,reason,at,latency_ms,apns_unique_id)
      SELECT u.id, u.device, u.attempt, u.tries, u.outcome, u.status, u.reason, $1, u.latency, u.unique_id
      FROM unnest($2,$3,$4,$5,$6,$7,$8,$9,$10) u(id,device,attempt,tries,outcome,status,reason,latency,unique_id)
      ON CONFLICT (notification_id,device_id) DO UPDATE SET attempt=excluded.attempt, tries=excluded.tries,
        outcome=excluded.outcome, status=excluded.status, reason=excluded.reason, at=excluded.at,
        latency_ms=excluded.latency_ms, apns_unique_id=excluded.apns_unique_id
      WHERE x.attempt<excluded.attempt
      """, transaction.now, rows.map(\.flush.notificationID), rows.map(\.row.device), rows.map(\.flush.attempt),
      rows.map(\.row.tries), rows.map(\.row.outcome), rows.map(\.row.status), rows.map(\.row.reason),
      rows.map(\.row.latencyMilliseconds), rows.map(\.row.apnsUniqueID))
  }

  // MARK: Tasks

  private func insertLists(_ flushes: [TaskFlush]) throws(StoreError) {
    let lists = flushes.flatMap { flush in flush.lists.map { (task: flush.task, list: $0) } }
      .filter { !$0.list.devices.isEmpty }
    guard !lists.isEmpty else { return }
    try transaction.run(
      """
      INSERT INTO task(notification_id,app_id,credential_id,lane,due_at,expires_at,attempt,tries,lo,hi,cursor,list,n,state)
      SELECT t.notification_id, t.app_id, u.credential, t.lane, u.due_at, t.expires_at, t.attempt+1, t.tries+u.counted,
        u.lo, u.hi, u.lo, u.list, u.n, u.state
      FROM unnest($1,$2,$3,$4,$5,$6,$7,$8,$9) u(task_id,credential,due_at,counted,lo,hi,list,n,state)
        JOIN task t ON t.task_id=u.task_id AND t.task_id=ANY($1)
      """, lists.map(\.task), lists.map(\.list.credentialID), lists.map { transaction.after($0.list.delay) },
      lists.map { $0.list.isCounted ? 1 : 0 }, lists.map { $0.list.devices[0].rawValue - 1 },
      lists.map { $0.list.devices[$0.list.devices.count - 1] },
      lists.map { DeltaVarint.encode(list: $0.list.devices) }, lists.map(\.list.devices.count),
      lists.map { $0.list.isHeld ? TaskState.held : .ready })
  }

  private func delete(_ flushes: [TaskFlush]) throws(StoreError) {
    guard !flushes.isEmpty else { return }
    try transaction.run("DELETE FROM task WHERE task_id=ANY($1)", flushes.map(\.task))
  }

  private func add(_ flush: TaskFlush, isCanceled: Bool, to ledger: inout Ledger) {
    var counts = flush.counts
    var tasks = flush.ends ? -1 : 0
    if isCanceled {
      // No later attempt follows: what would have waited for one is canceled now.
      counts.canceled += flush.lists.reduce(0) { $0 + $1.devices.count }
    } else {
      tasks += flush.lists.count
    }
    ledger.add(counts, openTasks: tasks, cut: flush.cut, in: flush.notificationID)
  }
}

extension Transaction {
  fileprivate func retire(_ retirements: [Retirement]) throws(StoreError) {
    guard !retirements.isEmpty else { return }
    let retired = try all(
      """
      UPDATE device SET retired_at=$1, retired_reason=u.reason FROM unnest($2,$3,$4) u(id,before,reason)
      WHERE device_id=u.id AND device_id=ANY($2) AND retired_at IS NULL AND registered_at<u.before
      RETURNING credential_id, registered_at>'epoch'
      """, now, retirements.map(\.device), retirements.map(\.registeredBefore), retirements.map(\.reason)
    ) { (credential: CredentialID($0.integer(0)), isCounted: $0.bool(1)) }
    for device in retired where device.isCounted { countDevices(of: device.credential, by: -1) }
  }

  fileprivate func reasonID(for text: String) throws(StoreError) -> ReasonID {
    if let present = try presentReasonID(for: text) { return present }
    try run("INSERT INTO reason(text) VALUES($1) ON CONFLICT DO NOTHING", text)
    return try presentReasonID(for: text) ?? .none
  }

  private func presentReasonID(for text: String) throws(StoreError) -> ReasonID? {
    try first("SELECT reason_id FROM reason WHERE text=$1", text) {
      ReasonID(Int32(truncatingIfNeeded: $0.integer(0)))
    }
  }
}
