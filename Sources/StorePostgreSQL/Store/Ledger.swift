import PushCore

/// What a transaction adds to the sums and open tasks of notifications; written at once, in the order of ids, so that two transactions do
/// not wait for each other in a circle.
struct Ledger {
  private struct Entry {
    var counts = Counts()
    var openTasks = 0
    var isCut = false
  }

  private var entries: [NotificationID: Entry] = [:]

  /// Adds to a notification's sums, and to its tasks those that came or went.
  ///
  /// - Parameter cut: a range ended before its end, so the notification never becomes complete.
  mutating func add(_ counts: Counts, openTasks delta: Int, cut: Bool, in id: NotificationID) {
    var entry = entries[id] ?? Entry()
    entry.counts.devices += counts.devices
    entry.counts.accepted += counts.accepted
    entry.counts.rejected += counts.rejected
    entry.counts.expired += counts.expired
    entry.counts.canceled += counts.canceled
    entry.counts.failed += counts.failed
    entry.counts.skipped += counts.skipped
    entry.openTasks += delta
    entry.isCut = entry.isCut || cut
    entries[id] = entry
  }

  /// Writes everything; a notification is done when none of its tasks is left.
  ///
  /// - Parameter slot: which of a notification's rows of sums is added to.
  func write(to transaction: Transaction, slot: Int) throws(StoreError) {
    try writeTotals(to: transaction, slot: slot)
    try writeStates(to: transaction)
  }

  private func writeTotals(to transaction: Transaction, slot: Int) throws(StoreError) {
    let counted = entries.filter { $0.value.counts != Counts() }.sorted { $0.key < $1.key }
    guard !counted.isEmpty else { return }
    func column(_ path: KeyPath<Counts, Int>) -> [Int] { counted.map { $0.value.counts[keyPath: path] } }
    try transaction.run(
      """
      INSERT INTO notification_total AS x(notification_id,slot,devices,accepted,rejected,expired,canceled,failed,skipped)
      SELECT u.id, $1, u.devices, u.accepted, u.rejected, u.expired, u.canceled, u.failed, u.skipped
      FROM unnest($2,$3,$4,$5,$6,$7,$8,$9) u(id,devices,accepted,rejected,expired,canceled,failed,skipped)
      ON CONFLICT (notification_id,slot) DO UPDATE SET devices=x.devices+excluded.devices,
        accepted=x.accepted+excluded.accepted, rejected=x.rejected+excluded.rejected,
        expired=x.expired+excluded.expired, canceled=x.canceled+excluded.canceled, failed=x.failed+excluded.failed,
        skipped=x.skipped+excluded.skipped
      """, slot, counted.map(\.key), column(\.devices), column(\.accepted), column(\.rejected), column(\.expired),
      column(\.canceled), column(\.failed), column(\.skipped))
  }

  private func writeStates(to transaction: Transaction) throws(StoreError) {
    let changed = entries.filter { $0.value.openTasks != 0 || $0.value.isCut }.sorted { $0.key < $1.key }
    guard !changed.isEmpty else { return }
    let ids = changed.map(\.key)
    if ids.count > 1 {
      try transaction.rows(
        """
        SELECT 1 FROM notification_state WHERE notification_id=ANY($1) ORDER BY notification_id FOR NO KEY UPDATE
        """, ids
      ) { (_) throws(StoreError) in }
    }
    try transaction.run(
      """
      UPDATE notification_state s SET open_tasks=s.open_tasks+u.delta, cut=s.cut OR u.cut,
        done_at=CASE WHEN s.open_tasks+u.delta=0 THEN $1 END
      FROM unnest($2,$3,$4) u(id,delta,cut) WHERE s.notification_id=u.id AND s.notification_id=ANY($2)
      """, transaction.now, ids, changed.map(\.value.openTasks), changed.map(\.value.isCut))
  }
}
