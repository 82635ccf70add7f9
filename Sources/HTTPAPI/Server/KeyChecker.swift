import Operations
import PushCore

/// Tells who a request comes from by its API key.
///
/// A key that was found good is believed for a second, so that the store is not asked at each request; a revoked one is refused a
/// second later at the latest.
final class KeyChecker: Sendable {
  /// How long a key is believed.
  static let trust = Duration.seconds(1)
  /// How exact the time of the last use is kept.
  private static let useInterval = Duration.seconds(3600)

  private struct Known {
    var key: APIKey
    var until: MonotonicTime
  }

  private let context: APIContext
  private let known = Lock<[APIKeyID: Known]>([:])

  init(_ context: APIContext) { self.context = context }

  /// The key of an `Authorization` field.
  /// - Throws: 401 when there is none or it is not good.
  func key(_ authorization: String?) async throws -> APIKey {
    guard let authorization else { throw Problem(.unauthorized, "send Authorization: Bearer with an API key") }
    let words = authorization.utf8.split(separator: UInt8(ascii: " "))
    guard words.count == 2, String(words[0])?.lowercased() == "bearer",
      let text = String(words[1]).flatMap(APIKeyText.init)
    else {
      throw Problem(.unauthorized, "the Authorization is no Bearer with an API key, as pushrelay key add prints it")
    }
    let digest = context.sha256(text.secret)
    guard let key = try await stored(text.id), key.revokedAt == nil, APIKeyText.isSame(key.secretSHA256, digest) else {
      throw Problem(.unauthorized, "the API key is not known, or was revoked")
    }
    return key
  }

  private func stored(_ id: APIKeyID) async throws -> APIKey? {
    let now = context.clocks.monotonicTime()
    if let known = known.withLock({ $0[id] }), now < known.until { return known.key }
    guard let key = try await context.store.apiKey(id) else { return nil }
    known.withLock { $0[id] = Known(key: key, until: now + Self.trust) }
    let wall = context.clocks.wallTime()
    if key.revokedAt == nil, wall.value - (key.lastUsedAt?.value ?? 0) > Self.useInterval.wholeMilliseconds {
      // For people who look for unused keys: a store that cannot be written holds up no request for it, and the next look tries again.
      Task { [store = context.store] in try? await store.noteUse(of: id) }
    }
    return key
  }
}
