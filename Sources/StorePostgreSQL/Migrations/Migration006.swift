extension Migrations {
  /// What apps register by themselves, protected interests, and Beams.
  static let migration006 = """
    CREATE TABLE app_user(                      -- said by apps, proved by nobody
      user_id text PRIMARY KEY, name text NOT NULL, created_at timestamptz NOT NULL, updated_at timestamptz NOT NULL);
    ALTER TABLE interest ADD COLUMN owner_user text; -- the first proved user whose own interest it is
    CREATE INDEX interest_owner ON interest(owner_user) WHERE owner_user IS NOT NULL;
    CREATE TABLE subscription_pending(          -- asked for by an app, not granted: no walk reads it
      device_id bigint NOT NULL, interest_id bigint NOT NULL, PRIMARY KEY(device_id, interest_id));
    CREATE TABLE beams_device(
      instance_id text NOT NULL, beams_id text NOT NULL, device_id bigint NOT NULL,
      metadata bytea,                           -- a JSON object
      PRIMARY KEY(instance_id, beams_id), UNIQUE(device_id, instance_id));
    CREATE TABLE beams_publish(                 -- one notification for each topic of the instance
      publish_id text NOT NULL, notification_id bigint NOT NULL, instance_id text NOT NULL,
      PRIMARY KEY(publish_id, notification_id));
    CREATE INDEX beams_publish_notification ON beams_publish(notification_id, publish_id);
    CREATE TABLE receipt_mark(                  -- what the app reported of a push
      notification_id bigint NOT NULL, device_id bigint NOT NULL, delivered_at timestamptz, opened_at timestamptz,
      PRIMARY KEY(notification_id, device_id));
    """
}
