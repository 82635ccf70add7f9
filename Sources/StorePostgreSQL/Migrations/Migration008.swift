extension Migrations {
  /// Webhooks of Beams publishes.
  static let migration008 = """
    CREATE TABLE beams_webhook(                 -- until its last message has arrived or was given up
      publish_id text PRIMARY KEY,
      url text NOT NULL,                        -- may hold a name and a password
      body bytea NOT NULL,                      -- of the publish
      state smallint NOT NULL DEFAULT 0,        -- 0 STARTED is to be told, 1 FINISHED
      tries smallint NOT NULL DEFAULT 0,        -- of the message, in vain
      created_at timestamptz NOT NULL,
      due_at timestamptz NOT NULL,              -- of a leased one: when its lease ends
      epoch bigint NOT NULL DEFAULT 0);         -- grows with each lease and each settlement
    CREATE INDEX beams_webhook_due ON beams_webhook(due_at);
    """
}
