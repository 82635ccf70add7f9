import Operations
import PushCore

extension SQLiteStore {
  /// `decide` runs on the writer's thread inside the transaction, so it must be short; it is called again when the transaction has to be
  /// repeated.
  public func providerToken(
    of key: ProviderKeyIdentity,
    decide: @escaping @Sendable (ProviderTokenRecord?) throws(StoreError) -> ProviderTokenRecord
  ) async throws(StoreError) -> ProviderTokenRecord {
    try await write(isUrgent: true) { (transaction) throws(StoreError) in
      let present = try transaction.providerToken(of: key)
      let record = try decide(present)
      if record != present { try transaction.store(record, of: key) }
      return record
    }
  }
}

extension Transaction {
  fileprivate func providerToken(of key: ProviderKeyIdentity) throws(StoreError) -> ProviderTokenRecord? {
    try first(
      "SELECT jwt, iat, refused_until FROM provider_token WHERE team_id=?1 AND key_id=?2 AND public_key_sha256=?3",
      key.teamID, key.keyID, key.publicKeySHA256
    ) { row in
      ProviderTokenRecord(
        jwt: row.text(0), issuedAt: row.integer(1),
        refusedUntil: row.optional(2, Row.integer).map { UnixMilliseconds($0) })
    }
  }

  fileprivate func store(_ record: ProviderTokenRecord, of key: ProviderKeyIdentity) throws(StoreError) {
    try run(
      """
      INSERT OR REPLACE INTO provider_token(team_id,key_id,public_key_sha256,jwt,iat,refused_until)
      VALUES(?1,?2,?3,?4,?5,?6)
      """, key.teamID, key.keyID, key.publicKeySHA256, record.jwt, record.issuedAt, record.refusedUntil)
  }
}
