import Operations
import PushCore

extension PostgreSQLStore {
  /// A notification from further ahead was enqueued before the clock was set back.
  static let clockTolerance = Duration.seconds(5)

  /// The most tasks that one transaction sets aside or takes back.
  private static let step = 1000
  /// A credential that no worker has signed for in this time is held.
  static let signerPatience = Duration.seconds(300)
  /// Why it is held then.
  static let noSigner = "NoSigner"

  /// Holds credentials; their due tasks are set aside in steps, and no claim takes one from the first step on.
  public func hold(_ credentials: [CredentialID], reason: String) async throws(StoreError) {
    _ = try await write { (transaction) throws(StoreError) in
      try transaction.run(
        """
        UPDATE credential SET held_since=coalesce(held_since,$2), held_reason=$3 WHERE credential_id=ANY($1)
        """, credentials, transaction.now, reason)
    }
    try await holdTasks()
  }

  /// Resumes credentials; their tasks become ready in steps.
  public func resume(_ credentials: [CredentialID]) async throws(StoreError) {
    _ = try await write { (transaction) throws(StoreError) in
      try transaction.run(
        "UPDATE credential SET held_since=NULL, held_reason=NULL WHERE credential_id=ANY($1)", credentials)
    }
    try await resumeTasks()
  }

  /// Notes why nothing can be sent, or that it can again.
  public func note(trouble: String?, of credentials: [CredentialID]) async throws(StoreError) {
    _ = try await write { (transaction) throws(StoreError) in
      try transaction.run(
        """
        UPDATE credential SET trouble=$2, trouble_since=CASE WHEN $2 IS NULL THEN NULL ELSE coalesce(trouble_since,$3) END
        WHERE credential_id=ANY($1)
        """, credentials, trouble, transaction.now)
    }
  }

  /// Notes that this process can sign for these credentials.
  public func signerSeen(_ credentials: [CredentialID]) async throws(StoreError) {
    let isFreed = try await write { (transaction) throws(StoreError) in try transaction.signerSeen(credentials) }
    if isFreed { try await resumeTasks() }
  }

  /// Sets aside, takes back, ends and holds what is due for it; in steps.
  public func sweep() async throws(StoreError) {
    try await write { (transaction) throws(StoreError) in
      try transaction.holdUnsigned()
      try transaction.bringForward()
    }
    try await inSteps("sweep") { (transaction) throws(StoreError) in try transaction.endParkedTasks(limit: Self.step) }
    try await holdTasks()
    try await resumeTasks()
  }

  private func holdTasks() async throws(StoreError) {
    try await inSteps("hold") { (transaction) throws(StoreError) in try transaction.holdTasks(limit: Self.step) }
  }

  private func resumeTasks() async throws(StoreError) {
    try await inSteps("resume") { (transaction) throws(StoreError) in try transaction.resumeTasks(limit: Self.step) }
  }

  /// Runs a call until it finds less than a full step: no transaction is long, and claims leave held credentials out from the first moment.
  private func inSteps(
    _ call: StaticString, _ body: @escaping @Sendable (Transaction) throws(StoreError) -> Int
  ) async throws(StoreError) {
    while try await write(call: call, body) == Self.step {}
  }
}

extension Transaction {
  /// Sets due tasks of held credentials aside, so that they stand in no claim's way; returns how many.
  fileprivate func holdTasks(limit: Int) throws(StoreError) -> Int {
    let isAnythingHeld = try first("SELECT 1 FROM credential WHERE held_since IS NOT NULL LIMIT 1") { _ in true }
    guard isAnythingHeld == true else { return 0 }
    return try run(
      """
      UPDATE task SET state=3 WHERE task_id=ANY(ARRAY(SELECT k.task_id FROM task k
        WHERE k.state=0 AND k.lane IN (0,1,2) AND k.due_at<=$1
          AND (k.credential_id=ANY(ARRAY(SELECT credential_id FROM credential WHERE held_since IS NOT NULL))
            OR k.credential_id IS NULL AND k.app_id=ANY(ARRAY
              (SELECT app_id FROM credential GROUP BY app_id HAVING count(*)=count(held_since))))
        LIMIT $2 FOR UPDATE SKIP LOCKED))
      """, now, limit)
  }

  /// Makes held tasks ready whose credential, or one of whose app's, is served again; returns how many.
  fileprivate func resumeTasks(limit: Int) throws(StoreError) -> Int {
    let apps = try all("SELECT app_id FROM credential WHERE held_since IS NULL GROUP BY app_id") {
      AppID($0.integer(0))
    }
    var resumed = 0
    for app in apps where resumed < limit {
      let lanes = try all(
        """
        UPDATE task SET state=0, due_at=greatest(due_at,$2) WHERE task_id=ANY(ARRAY(SELECT k.task_id FROM task k
          WHERE k.app_id=$1 AND k.state=3
            AND (k.credential_id IS NULL
              OR k.credential_id=ANY(ARRAY(SELECT credential_id FROM credential WHERE held_since IS NULL)))
          LIMIT $3 FOR UPDATE SKIP LOCKED))
        RETURNING lane
        """, app, now, limit - resumed
      ) { $0.integer(0) }
      for lane in lanes { Lane(rawValue: UInt8(truncatingIfNeeded: lane)).map(wake) }
      resumed += lanes.count
    }
    return resumed
  }

  /// Notes who can sign; true when that freed a credential.
  fileprivate func signerSeen(_ credentials: [CredentialID]) throws(StoreError) -> Bool {
    try run("UPDATE credential SET signer_seen_at=$2 WHERE credential_id=ANY($1)", credentials, now)
    return try run(
      """
      UPDATE credential SET held_since=NULL, held_reason=NULL WHERE held_reason=$2 AND credential_id=ANY($1)
      """, credentials, PostgreSQLStore.noSigner) > 0
  }

  /// Holds what nobody signs for.
  fileprivate func holdUnsigned() throws(StoreError) {
    try run(
      "UPDATE credential SET held_since=$1, held_reason=$2 WHERE held_since IS NULL AND signer_seen_at<$3", now,
      PostgreSQLStore.noSigner, after(.zero - PostgreSQLStore.signerPatience))
  }

  /// Makes due at once what was enqueued to be sent at once, by a clock that was set back since.
  fileprivate func bringForward() throws(StoreError) {
    try run(
      """
      UPDATE task SET due_at=$1 WHERE notification_id>=$2 AND state=0 AND attempt=0 AND due_at>$1
        AND (SELECT n.not_before=n.created_at FROM notification n WHERE n.notification_id=task.notification_id)
      """, now, NotificationID.first(at: after(PostgreSQLStore.clockTolerance)))
  }

  /// Ends parked tasks past their deadline; returns how many.
  fileprivate func endParkedTasks(limit: Int) throws(StoreError) -> Int {
    let parked = try all(
      """
      DELETE FROM task WHERE task_id=ANY(ARRAY(SELECT k.task_id FROM task k
        WHERE k.state=2 AND k.expires_at<=$1 LIMIT $2 FOR UPDATE SKIP LOCKED))
      RETURNING notification_id, attempt=0, n, greatest(n-settled,0)
      """, now, limit
    ) { row in
      (id: NotificationID(row.integer(0)), isFirst: row.bool(1), count: row.count(2), left: row.count(3))
    }
    var ledger = Ledger()
    for task in parked {
      var counts = Counts()
      counts.add(.expired, task.left)
      if task.isFirst { counts.devices = task.left }
      ledger.add(counts, openTasks: -1, cut: task.isFirst && task.count == 0, in: task.id)
    }
    try ledger.write(to: self, slot: 0)
    return parked.count
  }
}
