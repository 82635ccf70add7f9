extension Migrations {
  /// The first schema. All times are UNIX milliseconds, all ids fit 53 bits, booleans are 0 or 1.
  static let migration001 = """
    CREATE TABLE meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES('schema_version',0),('device_seq',0);

    -- Registry
    CREATE TABLE app(app_id INTEGER PRIMARY KEY, topic TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL) STRICT;
    CREATE TABLE credential(                    -- what signs for (app, environment)
      credential_id INTEGER PRIMARY KEY,
      app_id INTEGER NOT NULL REFERENCES app,
      environment INTEGER NOT NULL,             -- 0 production, 1 sandbox
      team_id TEXT, key_id TEXT,                -- never the key itself
      approx_devices INTEGER NOT NULL DEFAULT 0,-- a hint for the number of ranges
      held_since INTEGER, held_reason TEXT,     -- paused: nothing of it is claimed
      signer_seen_at INTEGER NOT NULL,          -- when a worker last said that it can sign
      UNIQUE(app_id, environment)
    ) STRICT;
    CREATE TABLE provider_token(                -- shared by all processes
      team_id TEXT NOT NULL, key_id TEXT NOT NULL, public_key_sha256 BLOB NOT NULL,
      jwt TEXT NOT NULL, iat INTEGER NOT NULL, refused_until INTEGER,
      PRIMARY KEY(team_id, key_id, public_key_sha256)
    ) STRICT;
    CREATE TABLE device(
      device_id INTEGER PRIMARY KEY,            -- bucket << 40 | sequence
      credential_id INTEGER NOT NULL REFERENCES credential,
      token TEXT NOT NULL,                      -- lower-case hexadecimal
      user_id TEXT, user_verified INTEGER NOT NULL DEFAULT 0, language TEXT,
      registered_at INTEGER NOT NULL,           -- 0 = only named by a push: in no list
      retired_at INTEGER, retired_reason INTEGER
    ) STRICT;
    CREATE UNIQUE INDEX device_token ON device(credential_id, token);
    CREATE INDEX device_user ON device(user_id, device_id) WHERE user_id IS NOT NULL;
    CREATE TABLE interest(
      interest_id INTEGER PRIMARY KEY, app_id INTEGER NOT NULL REFERENCES app, name TEXT NOT NULL,
      approx_size INTEGER NOT NULL DEFAULT 0, UNIQUE(app_id, name)
    ) STRICT;
    CREATE TABLE subscription(
      interest_id INTEGER NOT NULL, device_id INTEGER NOT NULL, PRIMARY KEY(interest_id, device_id)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX subscription_device ON subscription(device_id);

    -- Queue
    CREATE TABLE notification(                  -- immutable, but the payload is erased some time after the final state
      notification_id INTEGER PRIMARY KEY,      -- ms since 2020 << 12, plus a number within the millisecond
      app_id INTEGER NOT NULL,
      lane INTEGER NOT NULL,                    -- 0 urgent, 1 normal, 2 bulk
      created_at INTEGER NOT NULL, not_before INTEGER NOT NULL, expires_at INTEGER NOT NULL,
      row_receipts INTEGER NOT NULL,            -- lane 0-1 and at most 100 devices expected
      target BLOB NOT NULL, headers BLOB NOT NULL, payload BLOB
    ) STRICT;
    CREATE TABLE notification_state(            -- beside the notification, so that a flush does not rewrite a payload
      notification_id INTEGER PRIMARY KEY, open_tasks INTEGER NOT NULL, canceled_at INTEGER, done_at INTEGER,
      cut INTEGER NOT NULL DEFAULT 0,           -- a range was dropped before its end: never complete
      erased INTEGER NOT NULL DEFAULT 0,
      devices INTEGER NOT NULL DEFAULT 0, accepted INTEGER NOT NULL DEFAULT 0, rejected INTEGER NOT NULL DEFAULT 0,
      expired INTEGER NOT NULL DEFAULT 0, canceled INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
      skipped INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE INDEX notification_unerased ON notification_state(done_at) WHERE done_at IS NOT NULL AND erased=0;
    CREATE TABLE idempotency(
      scope INTEGER NOT NULL, key TEXT NOT NULL, request_hash BLOB NOT NULL, notification_id INTEGER NOT NULL,
      expires_at INTEGER NOT NULL, PRIMARY KEY(scope, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX idempotency_expiry ON idempotency(expires_at);
    CREATE TABLE task(                          -- a range of device ids or a list; deleted when it ends
      task_id INTEGER PRIMARY KEY AUTOINCREMENT,
      notification_id INTEGER NOT NULL, app_id INTEGER NOT NULL,
      credential_id INTEGER,                    -- NULL = several of the app
      lane INTEGER NOT NULL, due_at INTEGER NOT NULL, expires_at INTEGER NOT NULL,
      attempt INTEGER NOT NULL DEFAULT 0,       -- numbers receipts
      tries INTEGER NOT NULL DEFAULT 0,         -- counted sends so far
      lo INTEGER NOT NULL, hi INTEGER NOT NULL, -- (lo, hi] of device ids
      cursor INTEGER NOT NULL,                  -- every device of the range up to this one is settled
      seq_hi INTEGER,                           -- newest device sequence at the first claim
      list BLOB,                                -- packed device ids
      n INTEGER NOT NULL DEFAULT 0,             -- devices, where known
      settled INTEGER NOT NULL DEFAULT 0,       -- receipts written by this task; part of the fence
      state INTEGER NOT NULL DEFAULT 0,         -- 0 ready, 1 leased, 2 parked, 3 held
      owner INTEGER,                            -- random per process start
      epoch INTEGER NOT NULL DEFAULT 0,         -- grows with each claim
      lease_until INTEGER NOT NULL DEFAULT 0,   -- in no index: a renewal touches one page
      claims INTEGER NOT NULL DEFAULT 0         -- claims without progress
    ) STRICT;
    CREATE INDEX task_ready ON task(lane, due_at, task_id) WHERE state=0;
    CREATE INDEX task_leased ON task(task_id) WHERE state=1;
    CREATE INDEX task_parked ON task(expires_at) WHERE state=2;
    CREATE INDEX task_held ON task(app_id, expires_at) WHERE state=3;
    CREATE INDEX task_notification ON task(notification_id);

    -- Receipts
    CREATE TABLE reason(reason_id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT; -- texts that no table has
    INSERT INTO reason VALUES(999,'');          -- so that the next is 1000
    CREATE TABLE receipt_chunk(                 -- one row per flush of a task; codes: ReceiptChunk
      notification_id INTEGER NOT NULL, attempt INTEGER NOT NULL, first_device INTEGER NOT NULL,
      last_device INTEGER NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL, codes BLOB NOT NULL
    ) STRICT; -- with rowid: without, each row over 1002 bytes would fill an overflow page (9.4 instead of 2.8 B a device)
    CREATE UNIQUE INDEX receipt_chunk_key ON receipt_chunk(notification_id, attempt, first_device, last_device);
    CREATE TABLE receipt(                       -- where notification.row_receipts: the last attempt of each device
      notification_id INTEGER NOT NULL, device_id INTEGER NOT NULL, attempt INTEGER NOT NULL, tries INTEGER NOT NULL,
      outcome INTEGER NOT NULL, status INTEGER NOT NULL, reason INTEGER NOT NULL, at INTEGER NOT NULL,
      latency_ms INTEGER, apns_unique_id TEXT, PRIMARY KEY(notification_id, device_id)
    ) STRICT, WITHOUT ROWID;
    """
}
