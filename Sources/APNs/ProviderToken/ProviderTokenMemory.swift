import Operations
import PushCore

/// Keeps provider tokens in this process alone: for dry runs, and where no state can be written.
///
/// A program that starts often must not use it: every start would make a token, and APNs takes one in 20 minutes.
public final class ProviderTokenMemory: ProviderTokenStore {
  private let records = Lock<[ProviderKeyIdentity: ProviderTokenRecord]>([:])

  /// An empty memory.
  public init() {}

  /// See ``PushCore/ProviderTokenStore``; decisions come one after the other.
  public func providerToken(
    of key: ProviderKeyIdentity,
    decide: @escaping @Sendable (ProviderTokenRecord?) throws(StoreError) -> ProviderTokenRecord
  ) async throws(StoreError) -> ProviderTokenRecord {
    try records.withLock { (records) throws(StoreError) in
      let record = try decide(records[key])
      records[key] = record
      return record
    }
  }
}
