import Operations
import PushCore

extension PostgreSQLStore: OverviewStore {
  /// A page of a listing, from one snapshot.
  public func notifications(
    _ query: NotificationQuery, before: NotificationID?, limit: Int
  ) async throws(StoreError) -> NotificationPage {
    try await read { (transaction) throws(StoreError) in
      try transaction.notifications(query, before: before ?? .greatest, limit: limit)
    }
  }

  /// A page of the feed, from one snapshot.
  public func retiredDevices(
    topics: [String]?, after: RetirementPlace, limit: Int
  ) async throws(StoreError) -> [Device] {
    try await read { (transaction) throws(StoreError) in
      // A sum is in no index: the planner must follow the order of retirement, not read all devices of the apps and sort them.
      try transaction.all(
        """
        SELECT d.device_id, a.topic, c.environment, d.token, d.user_id, d.user_verified, d.language, d.registered_at,
          d.retired_at, d.retired_reason
        FROM device d JOIN credential c ON c.credential_id=d.credential_id+0 JOIN app a ON a.app_id=c.app_id
        WHERE d.retired_at IS NOT NULL AND (d.retired_at,d.device_id)>($1,$2) AND d.registered_at>'epoch'
          AND a.app_id=ANY($3)
        ORDER BY d.retired_at, d.device_id LIMIT $4
        """, after.at, after.device, try transaction.apps(of: topics), limit, read: transaction.device)
    }
  }

  /// Counts the active subscribers.
  public func subscriberCount(of interest: String, topics: [String]?) async throws(StoreError) -> Int {
    try await read { (transaction) throws(StoreError) in
      var count = 0
      for app in try transaction.apps(of: topics) {
        guard let id = try transaction.interestID(of: app, interest) else { continue }
        count +=
          try transaction.first(
            """
            SELECT count(*) FROM subscription s JOIN device d ON d.device_id=s.device_id
            WHERE s.interest_id=$1 AND d.retired_at IS NULL AND d.registered_at>'epoch'
            """, id
          ) { $0.count(0) } ?? 0
      }
      return count
    }
  }

  /// Removes the devices of a user, 500 a transaction.
  public func removeUser(_ user: String, topics: [String]?) async throws(StoreError) -> Int {
    let step = 500
    var removed = 0
    while true {
      let count = try await write { (transaction) throws(StoreError) in
        try transaction.removeDevices(of: user, try transaction.apps(of: topics), limit: step)
      }
      removed += count
      if count < step { break }
    }
    try await write { (transaction) throws(StoreError) in try transaction.forget(user) }
    return removed
  }

  /// The oldest due task of each lane.
  public func backlog() async throws(StoreError) -> [LaneBacklog] {
    try await read { (transaction) throws(StoreError) in
      var backlogs: [LaneBacklog] = []
      for lane in Lane.allCases {
        let oldest = try transaction.first(
          "SELECT due_at FROM task WHERE state=0 AND lane=$1 AND due_at<=$2 ORDER BY due_at LIMIT 1", lane,
          transaction.now
        ) { $0.time(0) }
        backlogs.append(LaneBacklog(lane: lane, oldestDueAt: oldest))
      }
      return backlogs
    }
  }
}

extension NotificationID {
  /// Above every id.
  fileprivate static let greatest = NotificationID(1 << 53)
}

extension Transaction {
  /// How many notifications one page looks at, however few of them are shown.
  private static let window = 1000

  /// The apps of these topics, those that extend them included; nil = all.
  fileprivate func apps(of topics: [String]?) throws(StoreError) -> [AppID] {
    try all("SELECT app_id, topic FROM app ORDER BY app_id") { (AppID($0.integer(0)), $0.text(1)) }
      .filter { app in topics?.contains { TopicText.belongs(app.1, to: $0) } ?? true }.map(\.0)
  }

  fileprivate func notifications(
    _ query: NotificationQuery, before: NotificationID, limit: Int
  ) throws(StoreError) -> NotificationPage {
    let apps = Set(try apps(of: query.topics))
    // A notification that still has work has a task: those are few, whatever the rest of the tables holds.
    let isOpen = query.state.map { !$0.isFinal } ?? false
    let found =
      isOpen
      ? try all(
        """
        SELECT DISTINCT notification_id, app_id FROM task WHERE notification_id<$1
        ORDER BY notification_id DESC, app_id LIMIT $2
        """, before, Self.window
      ) { (id: NotificationID($0.integer(0)), app: AppID($0.integer(1))) }
      : try all(
        """
        SELECT notification_id, app_id FROM notification WHERE notification_id<$1
        ORDER BY notification_id DESC LIMIT $2
        """, before, Self.window
      ) { (id: NotificationID($0.integer(0)), app: AppID($0.integer(1))) }
    var page = NotificationPage(notifications: [], next: found.count == Self.window ? found.last?.id : nil)
    for (index, entry) in found.enumerated() where apps.contains(entry.app) {
      guard let status = try status(entry.id), query.state == nil || status.state == query.state else { continue }
      page.notifications.append(status)
      if page.notifications.count == limit {
        if index + 1 < found.count { page.next = entry.id }
        break
      }
    }
    return page
  }

  /// Forgets what is kept of a user beside their devices, once none is left.
  fileprivate func forget(_ user: String) throws(StoreError) {
    try run("DELETE FROM app_user WHERE user_id=$1 AND NOT EXISTS(SELECT 1 FROM device d WHERE d.user_id=$1)", user)
    try run(
      """
      UPDATE interest SET owner_user=NULL
      WHERE owner_user=$1 AND NOT EXISTS(SELECT 1 FROM device d WHERE d.user_id=$1)
      """, user)
  }

  fileprivate func removeDevices(of user: String, _ apps: [AppID], limit: Int) throws(StoreError) -> Int {
    let devices = try all(
      """
      SELECT d.device_id, d.credential_id, d.retired_at IS NOT NULL
      FROM device d JOIN credential c ON c.credential_id=d.credential_id
      WHERE d.user_id=$1 AND d.registered_at>'epoch' AND c.app_id=ANY($2) ORDER BY d.device_id LIMIT $3
      """, user, apps, limit
    ) { (DeviceID($0.integer(0)), CredentialID($0.integer(1)), $0.bool(2)) }
    for device in devices { try remove(device) }
    return devices.count
  }
}
