extension Migrations {
  /// The first schema. All ids fit 53 bits. Tables of notifications are partitioned by id, which is by time: see ``migration001Days``.
  static let migration001 =
    """
    CREATE TABLE meta(schema_version integer NOT NULL);
    INSERT INTO meta VALUES(0);
    CREATE SEQUENCE device_seq CACHE 1;         -- without a cache: last_value bounds every number handed out (task.seq_hi)
    CREATE SEQUENCE notification_seq;

    -- Registry
    CREATE TABLE app(
      app_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, topic text COLLATE "C" NOT NULL UNIQUE,
      created_at timestamptz NOT NULL);
    CREATE TABLE credential(                    -- what signs for (app, environment)
      credential_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      app_id bigint NOT NULL REFERENCES app,
      environment smallint NOT NULL,            -- 0 production, 1 sandbox
      team_id text, key_id text,                -- never the key itself
      certificate_sha256 bytea,                 -- of the certificate that is presented; never its key
      approx_devices bigint NOT NULL DEFAULT 0, -- a hint for the number of ranges
      held_since timestamptz, held_reason text, -- paused: nothing of it is claimed
      trouble text, trouble_since timestamptz,  -- why nothing can be sent at the moment, in words for people
      signer_seen_at timestamptz NOT NULL,      -- when a worker last said that it can sign
      UNIQUE(app_id, environment));
    CREATE TABLE provider_token(                -- shared by all processes; decided on under the row's lock
      team_id text NOT NULL, key_id text NOT NULL, public_key_sha256 bytea NOT NULL,
      jwt text, iat bigint, refused_until timestamptz,
      PRIMARY KEY(team_id, key_id, public_key_sha256));
    CREATE TABLE device(
      device_id bigint PRIMARY KEY,             -- bucket << 40 | sequence
      credential_id bigint NOT NULL REFERENCES credential,
      token text COLLATE "C" NOT NULL,          -- lower-case hexadecimal
      user_id text COLLATE "C", user_verified boolean NOT NULL DEFAULT false, language text,
      registered_at timestamptz NOT NULL,       -- 'epoch' = only named by a push: in no list
      retired_at timestamptz, retired_reason integer);
    CREATE UNIQUE INDEX device_token ON device(credential_id, token);
    CREATE INDEX device_user ON device(user_id, device_id) WHERE user_id IS NOT NULL;
    CREATE TABLE interest(
      interest_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, app_id bigint NOT NULL REFERENCES app,
      name text COLLATE "C" NOT NULL, approx_size bigint NOT NULL DEFAULT 0, UNIQUE(app_id, name));
    CREATE TABLE subscription(interest_id bigint NOT NULL, device_id bigint NOT NULL, PRIMARY KEY(interest_id, device_id));
    CREATE INDEX subscription_device ON subscription(device_id) INCLUDE (interest_id);

    -- Queue
    CREATE TABLE notification(                  -- immutable, but the payload is erased some time after the final state
      notification_id bigint PRIMARY KEY,       -- ms since 2020 << 12 | number of notification_seq & 4095
      app_id bigint NOT NULL,
      lane smallint NOT NULL,                   -- 0 urgent, 1 normal, 2 bulk
      created_at timestamptz NOT NULL, not_before timestamptz NOT NULL, expires_at timestamptz NOT NULL,
      row_receipts boolean NOT NULL,            -- lane 0-1 and at most 100 devices expected
      target bytea NOT NULL, headers bytea NOT NULL, payload bytea
    ) PARTITION BY RANGE(notification_id);
    CREATE TABLE notification_state(            -- written when tasks come and go
      notification_id bigint PRIMARY KEY, open_tasks integer NOT NULL, canceled_at timestamptz, done_at timestamptz,
      cut boolean NOT NULL DEFAULT false,       -- a range was dropped before its end: never complete
      erased boolean NOT NULL DEFAULT false
    ) PARTITION BY RANGE(notification_id);
    CREATE INDEX notification_unerased ON notification_state(done_at) WHERE done_at IS NOT NULL AND NOT erased;
    CREATE TABLE notification_total(            -- sums, to be added up: each worker has a slot, so that none waits for another
      notification_id bigint NOT NULL, slot smallint NOT NULL, devices bigint NOT NULL, accepted bigint NOT NULL,
      rejected bigint NOT NULL, expired bigint NOT NULL, canceled bigint NOT NULL, failed bigint NOT NULL,
      skipped bigint NOT NULL, PRIMARY KEY(notification_id, slot)
    ) PARTITION BY RANGE(notification_id);
    CREATE TABLE idempotency(
      scope bigint NOT NULL, key text COLLATE "C" NOT NULL, request_hash bytea NOT NULL, notification_id bigint NOT NULL,
      expires_at timestamptz NOT NULL, PRIMARY KEY(scope, key));
    CREATE INDEX idempotency_expiry ON idempotency(expires_at);
    CREATE TABLE task(                          -- a range of device ids or a list; deleted when it ends
      task_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      notification_id bigint NOT NULL, app_id bigint NOT NULL,
      credential_id bigint,                     -- NULL = several of the app
      lane smallint NOT NULL, due_at timestamptz NOT NULL, expires_at timestamptz NOT NULL,
      attempt smallint NOT NULL DEFAULT 0,      -- numbers receipts
      tries smallint NOT NULL DEFAULT 0,        -- counted sends so far
      lo bigint NOT NULL, hi bigint NOT NULL,   -- (lo, hi] of device ids
      cursor bigint NOT NULL,                   -- every device of the range up to this one is settled
      seq_hi bigint,                            -- newest device sequence at the first claim
      list bytea,                               -- packed device ids
      n integer NOT NULL DEFAULT 0,             -- devices, where known
      settled bigint NOT NULL DEFAULT 0,        -- receipts written by this task; part of the fence
      state smallint NOT NULL DEFAULT 0,        -- 0 ready, 1 leased, 2 parked, 3 held
      owner bigint,                             -- random per process start
      epoch bigint NOT NULL DEFAULT 0,          -- grows with each claim
      lease_until timestamptz NOT NULL DEFAULT '-infinity',  -- like cursor in no index: renewals and flushes stay in the page
      claims smallint NOT NULL DEFAULT 0        -- claims without progress
    ) WITH (fillfactor=50, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=500,
      autovacuum_vacuum_cost_delay=0);
    CREATE INDEX task_ready ON task(lane, due_at, task_id) WHERE state=0;
    CREATE INDEX task_leased ON task(task_id) WHERE state=1;
    CREATE INDEX task_parked ON task(expires_at) WHERE state=2;
    CREATE INDEX task_held ON task(app_id, expires_at) WHERE state=3;
    CREATE INDEX task_notification ON task(notification_id);

    -- Receipts
    CREATE TABLE reason(                        -- texts that no table has
      reason_id integer GENERATED ALWAYS AS IDENTITY (START 1000) PRIMARY KEY, text text COLLATE "C" NOT NULL UNIQUE);
    CREATE TABLE receipt_chunk(                 -- one row or a few per flush of a task; codes: ReceiptChunk
      notification_id bigint NOT NULL, attempt smallint NOT NULL, first_device bigint NOT NULL, last_device bigint NOT NULL,
      n integer NOT NULL, at timestamptz NOT NULL, codes bytea NOT NULL,
      PRIMARY KEY(notification_id, attempt, first_device, last_device)
    ) PARTITION BY RANGE(notification_id);
    ALTER TABLE receipt_chunk ALTER codes SET STORAGE EXTERNAL;  -- packed already: compressing would only cost time
    CREATE TABLE receipt(                       -- where notification.row_receipts: the last attempt of each device
      notification_id bigint NOT NULL, device_id bigint NOT NULL, attempt smallint NOT NULL, tries smallint NOT NULL,
      outcome smallint NOT NULL, status smallint NOT NULL, reason integer NOT NULL, at timestamptz NOT NULL,
      latency_ms integer, apns_unique_id text, PRIMARY KEY(notification_id, device_id)
    ) PARTITION BY RANGE(notification_id);

    """ + migration001Begin + migration001Days

  /// What every transaction begins with. All of it ends with the transaction, so that no session has a state of its own.
  ///
  /// The planner is left no choice: every row is reached by an index, one after the other. What it would choose instead it chooses for the
  /// sizes it knows, which are wrong while a store is new, and for parameters it does not know.
  private static let migration001Begin = """
    CREATE FUNCTION begin_call(statement_ms bigint, lock_ms bigint) RETURNS bigint LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM set_config('search_path', 'pushrelay', true), set_config('jit', 'off', true),
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
        set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
        set_config('statement_timeout', statement_ms::text, true), set_config('lock_timeout', lock_ms::text, true),
        set_config('idle_in_transaction_session_timeout', statement_ms::text, true);
      RETURN extract(epoch FROM clock_timestamp())*1000;
    END $$;

    """

  /// Partitions of a day each, beside one for all that has no day of its own: old days are dropped whole, which costs nothing.
  private static let migration001Days = """
    CREATE TABLE notification_default PARTITION OF notification DEFAULT;
    CREATE TABLE notification_state_default PARTITION OF notification_state DEFAULT;
    CREATE TABLE notification_total_default PARTITION OF notification_total DEFAULT;
    CREATE TABLE receipt_chunk_default PARTITION OF receipt_chunk DEFAULT;
    CREATE TABLE receipt_default PARTITION OF receipt DEFAULT;

    CREATE FUNCTION day_id(day date) RETURNS bigint LANGUAGE sql IMMUTABLE AS
      $$ SELECT ((day - date '2020-01-01')::bigint * 86400000) << 12 $$;

    -- Makes the partitions of a day (UTC), unless rows of it lie in the default one already.
    CREATE FUNCTION ensure_day(day date) RETURNS void LANGUAGE plpgsql SET search_path = pushrelay AS $$
    DECLARE parent text; child text; low bigint := day_id(day); high bigint := day_id(day+1);
    BEGIN
      IF to_regclass('notification_'||to_char(day,'YYYYMMDD')) IS NOT NULL THEN RETURN; END IF;
      PERFORM pg_advisory_xact_lock(7261002);
      IF to_regclass('notification_'||to_char(day,'YYYYMMDD')) IS NOT NULL
        OR EXISTS (SELECT 1 FROM notification_default WHERE notification_id>=low AND notification_id<high) THEN RETURN; END IF;
      FOREACH parent IN ARRAY ARRAY['notification','notification_state','notification_total','receipt_chunk','receipt'] LOOP
        child := parent||'_'||to_char(day,'YYYYMMDD');
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING STORAGE)', child, parent);
        EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', parent, child, low, high);
      END LOOP;
    END $$;

    -- Drops the days whose last id is below "below" and whose notifications were all final by "final_by"; returns how many.
    CREATE FUNCTION drop_days(below bigint, final_by timestamptz) RETURNS integer LANGUAGE plpgsql SET search_path = pushrelay AS $$
    DECLARE day text; parent text; is_open boolean; dropped integer := 0;
    BEGIN
      FOR day IN SELECT right(c.relname,8) FROM pg_inherits i JOIN pg_class c ON c.oid=i.inhrelid
        WHERE i.inhparent='notification'::regclass AND c.relname ~ '^notification_[0-9]{8}$' LOOP
        CONTINUE WHEN day_id(to_date(day,'YYYYMMDD')+1) > below;
        PERFORM pg_advisory_xact_lock(7261002);
        CONTINUE WHEN to_regclass('notification_'||day) IS NULL;
        EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I WHERE done_at IS NULL OR done_at>$1)', 'notification_state_'||day)
          INTO is_open USING final_by;
        CONTINUE WHEN is_open;
        FOREACH parent IN ARRAY ARRAY['receipt','receipt_chunk','notification_total','notification_state','notification'] LOOP
          EXECUTE format('DROP TABLE %I', parent||'_'||day);
        END LOOP;
        dropped := dropped+1;
      END LOOP;
      RETURN dropped;
    END $$;
    """
}
