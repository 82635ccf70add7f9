import Operations
import PushCore

extension PostgreSQLStore {
  /// `decide` runs on a thread of the store while the key's row is locked, so it must be short; it is called again when the transaction has
  /// to be repeated.
  public func providerToken(
    of key: ProviderKeyIdentity,
    decide: @escaping @Sendable (ProviderTokenRecord?) throws(StoreError) -> ProviderTokenRecord
  ) async throws(StoreError) -> ProviderTokenRecord {
    try await write(isUrgent: true) { (transaction) throws(StoreError) in
      let present = try transaction.lockedProviderToken(of: key)
      let record = try decide(present)
      if record != present { try transaction.store(record, of: key) }
      return record
    }
  }
}

extension Transaction {
  /// The row is made first: what is not there cannot be locked.
  fileprivate func lockedProviderToken(of key: ProviderKeyIdentity) throws(StoreError) -> ProviderTokenRecord? {
    try run(
      "INSERT INTO provider_token(team_id,key_id,public_key_sha256) VALUES($1,$2,$3) ON CONFLICT DO NOTHING",
      key.teamID,
      key.keyID, key.publicKeySHA256)
    return try first(
      """
      SELECT jwt, iat, refused_until FROM provider_token WHERE team_id=$1 AND key_id=$2 AND public_key_sha256=$3
      FOR UPDATE
      """, key.teamID, key.keyID, key.publicKeySHA256
    ) { row in
      row.optional(0, Row.text).map {
        ProviderTokenRecord(jwt: $0, issuedAt: row.integer(1), refusedUntil: row.optional(2, Row.time))
      }
    } ?? nil
  }

  fileprivate func store(_ record: ProviderTokenRecord, of key: ProviderKeyIdentity) throws(StoreError) {
    try run(
      """
      UPDATE provider_token SET jwt=$4, iat=$5, refused_until=$6
      WHERE team_id=$1 AND key_id=$2 AND public_key_sha256=$3
      """, key.teamID, key.keyID, key.publicKeySHA256, record.jwt, record.issuedAt, record.refusedUntil)
  }
}
