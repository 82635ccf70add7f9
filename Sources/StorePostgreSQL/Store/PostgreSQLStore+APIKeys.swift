import Operations
import PushCore

extension PostgreSQLStore: APIKeyStore {
  /// Stores a key under a new id. When the connection broke before the answer came, the key may lie there twice: nobody knows the
  /// secret under the first id.
  public func addAPIKey(
    name: String, secretSHA256: [UInt8], topics: [String]?, actions: Set<APIAction>?
  ) async throws(StoreError) -> APIKey {
    let actionNames = actions.map { actions in APIAction.allCases.filter(actions.contains).map(\.rawValue) }
    return try await write { (transaction) throws(StoreError) in
      let id = try transaction.first(
        """
        INSERT INTO api_key(name,secret_sha256,topics,actions,created_at) VALUES($1,$2,$3,$4,$5) RETURNING key_id
        """, name, secretSHA256, topics, actionNames, transaction.now
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
        SELECT key_id, name, secret_sha256, array_to_string(topics,','), array_to_string(actions,','), created_at,
          last_used_at, revoked_at
        FROM api_key WHERE key_id=$1
        """, id.rawValue, read: APIKey.init)
    }
  }

  /// All keys.
  public func apiKeys() async throws(StoreError) -> [APIKey] {
    try await read { (transaction) throws(StoreError) in
      try transaction.all(
        """
        SELECT key_id, name, secret_sha256, array_to_string(topics,','), array_to_string(actions,','), created_at,
          last_used_at, revoked_at
        FROM api_key ORDER BY key_id
        """, read: APIKey.init)
    }
  }

  /// Refuses a key from now on.
  public func revokeAPIKey(_ id: APIKeyID) async throws(StoreError) -> Bool {
    try await write { (transaction) throws(StoreError) in
      try transaction.run(
        "UPDATE api_key SET revoked_at=coalesce(revoked_at,$2) WHERE key_id=$1", id.rawValue, transaction.now) > 0
    }
  }

  /// Notes that a key was used now.
  public func noteUse(of id: APIKeyID) async throws(StoreError) {
    _ = try await write { (transaction) throws(StoreError) in
      try transaction.run("UPDATE api_key SET last_used_at=$2 WHERE key_id=$1", id.rawValue, transaction.now)
    }
  }
}

extension APIKey {
  fileprivate init(_ row: Row) {
    // Neither topics nor actions have commas.
    func list(_ column: Int32) -> [String]? { row.optional(column, Row.text)?.split(separator: ",").map(String.init) }
    self.init(
      id: APIKeyID(row.integer(0)), name: row.text(1), secretSHA256: row.bytes(2), topics: list(3),
      // An action that only a later version knows gives nothing here.
      actions: list(4).map { Set($0.compactMap(APIAction.init(rawValue:))) }, createdAt: row.time(5),
      lastUsedAt: row.optional(6, Row.time), revokedAt: row.optional(7, Row.time))
  }
}
