extension Migrations {
  /// What apps register by themselves, protected interests, and Beams.
  static let migration005 = """
    CREATE TABLE app_user(                      -- said by apps, proved by nobody
      user_id TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    ALTER TABLE interest ADD COLUMN owner_user TEXT; -- the first proved user whose own interest it is
    CREATE INDEX interest_owner ON interest(owner_user) WHERE owner_user IS NOT NULL;
    CREATE TABLE subscription_pending(          -- asked for by an app, not granted: no walk reads it
      device_id INTEGER NOT NULL, interest_id INTEGER NOT NULL, PRIMARY KEY(device_id, interest_id)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE beams_device(
      instance_id TEXT NOT NULL, beams_id TEXT NOT NULL, device_id INTEGER NOT NULL,
      metadata BLOB,                            -- a JSON object
      PRIMARY KEY(instance_id, beams_id)
    ) STRICT, WITHOUT ROWID;
    CREATE UNIQUE INDEX beams_device_device ON beams_device(device_id, instance_id);
    CREATE TABLE beams_publish(                 -- one notification for each topic of the instance
      publish_id TEXT NOT NULL, notification_id INTEGER NOT NULL, instance_id TEXT NOT NULL,
      PRIMARY KEY(publish_id, notification_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX beams_publish_notification ON beams_publish(notification_id, publish_id);
    CREATE TABLE receipt_mark(                  -- what the app reported of a push
      notification_id INTEGER NOT NULL, device_id INTEGER NOT NULL, delivered_at INTEGER, opened_at INTEGER,
      PRIMARY KEY(notification_id, device_id)
    ) STRICT, WITHOUT ROWID;
    """
}
