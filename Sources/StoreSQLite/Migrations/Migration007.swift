extension Migrations {
  /// Webhooks of Beams publishes.
  static let migration007 = """
    CREATE TABLE beams_webhook(                 -- until its last message has arrived or was given up
      publish_id TEXT PRIMARY KEY,
      url TEXT NOT NULL,                        -- may hold a name and a password
      body BLOB NOT NULL,                       -- of the publish
      state INTEGER NOT NULL DEFAULT 0,         -- 0 STARTED is to be told, 1 FINISHED
      tries INTEGER NOT NULL DEFAULT 0,         -- of the message, in vain
      created_at INTEGER NOT NULL,
      due_at INTEGER NOT NULL,                  -- of a leased one: when its lease ends
      epoch INTEGER NOT NULL DEFAULT 0          -- grows with each lease and each settlement
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX beams_webhook_due ON beams_webhook(due_at);
    """
}
