import Operations
import PushCore
import StorePostgreSQL
import Support

/// Databases for tests. Making one takes a quarter of a second, so they are emptied and used again.
enum Database {
  /// The URIs of migrated databases that are empty and nobody's.
  private static let free = Lock<[String]>([])

  /// Runs `body` with a migrated database of its own.
  static func with<Result>(
    _ body: (PostgreSQLLocation, PostgreSQLServer) async throws -> Result
  ) async throws -> Result {
    let server = try await PostgreSQLServer.running()
    let used = free.withLock { $0.popLast() }
    let uri = if let used { used } else { try await server.makeDatabase() }
    if used == nil { _ = try PostgreSQLStore.migrate(PostgreSQLLocation(uri)) }
    // What a failed test leaves, nobody gets.
    let result = try await body(PostgreSQLLocation(uri), server)
    try await empty(uri, server)
    free.withLock { $0.append(uri) }
    return result
  }

  private static func empty(_ uri: String, _ server: PostgreSQLServer) async throws {
    try await server.sql(
      """
      SET search_path=pushrelay; SET client_min_messages=warning;
      DO $$ DECLARE t text; BEGIN
        FOR t IN SELECT relname FROM pg_class WHERE relkind='r' AND relname ~ '_[0-9]{8}$' LOOP
          EXECUTE 'DROP TABLE '||t;
        END LOOP;
      END $$;
      TRUNCATE app, credential, provider_token, device, interest, subscription, notification, notification_state,
        notification_total, idempotency, task, reason, receipt_chunk, receipt, api_key, app_user,
        subscription_pending, beams_device, beams_publish, receipt_mark, beams_webhook, worker
        RESTART IDENTITY;
      ALTER SEQUENCE device_seq RESTART; ALTER SEQUENCE notification_seq RESTART;
      """, at: uri)
  }
}

extension AppBinding {
  /// An app with a key.
  static let example = AppBinding(
    topic: "com.example.app", environment: .production, teamID: "TEAM123456", keyID: "KEY1234567")
}
