extension Migrations {
  /// API keys, and the feed of retired devices.
  static let migration002 = """
    CREATE TABLE api_key(
      key_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- never given twice: idempotency keys are kept under it
      name text NOT NULL,
      secret_sha256 bytea NOT NULL,
      topics text[], actions text[],            -- NULL = all
      created_at timestamptz NOT NULL, last_used_at timestamptz, revoked_at timestamptz);
    CREATE INDEX device_retired ON device(retired_at, device_id) WHERE retired_at IS NOT NULL;
    """
}
