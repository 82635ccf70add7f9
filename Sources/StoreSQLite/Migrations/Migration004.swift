extension Migrations {
  /// API keys, and the feed of retired devices.
  static let migration004 = """
    CREATE TABLE api_key(
      key_id INTEGER PRIMARY KEY AUTOINCREMENT, -- never given twice: idempotency keys are kept under it
      name TEXT NOT NULL,
      secret_sha256 BLOB NOT NULL,
      topics TEXT, actions TEXT,                -- JSON arrays; NULL = all
      created_at INTEGER NOT NULL, last_used_at INTEGER, revoked_at INTEGER
    ) STRICT;
    CREATE INDEX device_retired ON device(retired_at, device_id) WHERE retired_at IS NOT NULL;
    """
}
