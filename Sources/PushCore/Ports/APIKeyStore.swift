/// Where API keys are kept.
public protocol APIKeyStore: Sendable {
  /// Stores a key under a new id.
  func addAPIKey(
    name: String, secretSHA256: [UInt8], topics: [String]?, actions: Set<APIAction>?
  ) async throws(StoreError) -> APIKey
  /// The key of an id, also a revoked one; nil when there is none.
  func apiKey(_ id: APIKeyID) async throws(StoreError) -> APIKey?
  /// All keys by ascending id, also the revoked ones.
  func apiKeys() async throws(StoreError) -> [APIKey]
  /// Refuses a key from now on; a second time changes nothing. False when there is no such key.
  func revokeAPIKey(_ id: APIKeyID) async throws(StoreError) -> Bool
  /// Notes that a key was used now.
  func noteUse(of id: APIKeyID) async throws(StoreError)
}
