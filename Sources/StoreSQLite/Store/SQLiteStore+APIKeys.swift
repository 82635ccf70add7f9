import JSON
import Operations
import PushCore

extension SQLiteStore: APIKeyStore {
  /// Stores a key under a new id.
  public func addAPIKey(
    name: String, secretSHA256: [UInt8], topics: [String]?, actions: Set<APIAction>?
  ) async throws(StoreError) -> APIKey {
    let actionNames = actions.map { actions in APIAction.allCases.filter(actions.contains).map(\.rawValue) }
    return try await write { (transaction) throws(StoreError) in
      let id = try transaction.first(
        """
        INSERT INTO api_key(name,secret_sha256,topics,actions,created_at) VALUES(?1,?2,?3,?4,?5) RETURNING key_id
        """, name, secretSHA256, topics.map { JSONList($0) }, actionNames.map { JSONList($0) }, transaction.now
      ) { APIKeyID($0.integer(0)) }
      return APIKey(
        id: id ?? APIKeyID(0), name: name, secretSHA256: secretSHA256, topics: topics, actions: actions,
        createdAt: transaction.now)
    }
  }

  /// The key of an id.
  public func apiKey(_ id: APIKeyID) async throws(StoreError) -> APIKey? {
    try await read { (transaction) throws(StoreError) in
      try transaction.first(
        """
        SELECT key_id, name, secret_sha256, topics, actions, created_at, last_used_at, revoked_at FROM api_key
        WHERE key_id=?1
        """, id.rawValue, read: APIKey.init)
    }
  }

  /// All keys.
  public func apiKeys() async throws(StoreError) -> [APIKey] {
    try await read { (transaction) throws(StoreError) in
      try transaction.all(
        """
        SELECT key_id, name, secret_sha256, topics, actions, created_at, last_used_at, revoked_at FROM api_key
        WHERE key_id>0 ORDER BY key_id
        """, read: APIKey.init)
    }
  }

  /// Refuses a key from now on.
  public func revokeAPIKey(_ id: APIKeyID) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      try transaction.run(
        "UPDATE api_key SET revoked_at=coalesce(revoked_at,?2) WHERE key_id=?1", id.rawValue, transaction.now) > 0
    }
  }

  /// Notes that a key was used now.
  public func noteUse(of id: APIKeyID) async throws(StoreError) {
    _ = try await write { (transaction) throws(StoreError) in
      try transaction.run("UPDATE api_key SET last_used_at=?2 WHERE key_id=?1", id.rawValue, transaction.now)
    }
  }
}

extension APIKey {
  fileprivate init(_ row: Row) throws(StoreError) {
    let id = APIKeyID(row.integer(0))
    let actions = try Self.list(row, 4, of: id)
    self.init(
      id: id, name: row.text(1), secretSHA256: row.bytes(2), topics: try Self.list(row, 3, of: id),
      // An action that only a later version knows gives nothing here.
      actions: actions.map { Set($0.compactMap(APIAction.init(rawValue:))) },
      createdAt: UnixMilliseconds(row.integer(5)), lastUsedAt: row.optional(6, Row.integer).map { .init($0) },
      revokedAt: row.optional(7, Row.integer).map { .init($0) })
  }

  /// A list that cannot be read must not count as none, which would mean everything.
  private static func list(_ row: Row, _ column: Int32, of id: APIKeyID) throws(StoreError) -> [String]? {
    guard let text = row.optional(column, Row.text) else { return nil }
    do {
      let elements = try JSONValue(parsing: Array(text.utf8)).array ?? []
      return elements.compactMap(\.string)
    } catch {
      throw .unreadable("API key \(id)")
    }
  }
}
