import OpenSSL
import Operations
import PushCore

/// The provider tokens of this process: one per key, shared by all its connections and, through the store, by all
/// processes.
///
/// Tokens are minted under the store's lock, so that two processes never mint at the same time. Calls may come from any
/// task.
public final class ProviderTokens: Sendable {
  private let store: any ProviderTokenStore
  private let clocks: any Clocks
  private let entries = Lock<[ProviderKeyIdentity: Entry]>([:])

  /// A token as this process knows it.
  private struct Entry {
    var token: ProviderToken
    var refusedUntil: UnixMilliseconds?
    /// The token's age by the wall clock when it was first seen here, and when that was.
    var ageWhenSeen: Duration
    var seenAt: MonotonicTime
    /// The token before this one: APNs may still take it when it takes no new ones.
    var previous: Previous?
    /// Whether `previous` is presented as long as it lasts.
    var presentsPrevious = false

    struct Previous {
      var token: ProviderToken
      var ageWhenSeen: Duration
      var seenAt: MonotonicTime
    }
  }

  /// Tokens shared through `store`.
  public init(store: any ProviderTokenStore, clocks: any Clocks) {
    self.store = store
    self.clocks = clocks
  }

  /// The token to present now, when this process has one that need not be renewed; nil = ask ``token(for:)``.
  func current(_ key: ProviderKey) -> ProviderToken? {
    let now = clocks.wallTime()
    let monotonic = clocks.monotonicTime()
    return entries.withLock { entries in
      guard let entry = entries[key.identity] else { return nil }
      if entry.presentsPrevious, let previous = entry.previous,
        Self.age(of: previous.token, previous.ageWhenSeen, previous.seenAt, now, monotonic).isUsable
      {
        return previous.token
      }
      let age = Self.age(of: entry.token, entry.ageWhenSeen, entry.seenAt, now, monotonic)
      let decision = ProviderTokenPolicy.decide(
        age: age, refusedUntil: entry.refusedUntil, now: now)
      return decision == .use ? entry.token : nil
    }
  }

  /// How old each token is, by key.
  var ages: [(keyID: String, age: Duration)] {
    let (now, monotonic) = (clocks.wallTime(), clocks.monotonicTime())
    return entries.withLock { $0 }.map { identity, entry in
      let age = Self.age(of: entry.token, entry.ageWhenSeen, entry.seenAt, now, monotonic)
      return (identity.keyID, max(age.wall, age.monotonic ?? .zero))
    }.sorted { $0.keyID < $1.keyID }
  }

  /// The token to present now; minted and stored first when it is time.
  func token(for key: ProviderKey) async throws(ProviderTokenFailure) -> ProviderToken {
    if let current = current(key) { return current }
    return try await update(key) { age, refusedUntil, now in
      ProviderTokenPolicy.decide(age: age, refusedUntil: refusedUntil, now: now)
    }
  }

  /// The token to repeat a push with, once and on a new connection, after ExpiredProviderToken for `presented`.
  func token(
    for key: ProviderKey, afterExpired presented: ProviderToken
  ) async throws(ProviderTokenFailure) -> ProviderToken {
    // Another push has had the same answer, and a newer token is here already.
    if let current = current(key), current.issuedAt > presented.issuedAt { return current }
    stopPresentingPrevious(key)
    return try await update(key) { age, refusedUntil, now in
      guard let age else { return .mint }
      return
        switch ProviderTokenPolicy.afterExpired(age: age, refusedUntil: refusedUntil, now: now)
      {
      case .mint: .mint
      case .sameTokenOnNewConnection: .use
      }
    } isCurrent: {
      $0.issuedAt > presented.issuedAt
    }
  }

  /// Notes TooManyProviderTokenUpdates for `presented`: nobody mints for 20 minutes, and the token before is presented
  /// as long as it lasts.
  func tooManyUpdates(_ key: ProviderKey, presented: ProviderToken)
    async throws(ProviderTokenFailure)
  {
    let now = clocks.wallTime()
    let until = ProviderTokenPolicy.refusal(from: now)
    let isNews = entries.withLock { entries in
      guard var entry = entries[key.identity] else { return true }
      entry.presentsPrevious = presented == entry.token
      // All pushes in flight get the same answer; one of them is written down.
      let isNews = entry.refusedUntil.map { until.value - $0.value > 60_000 } ?? true
      entry.refusedUntil = until
      entries[key.identity] = entry
      return isNews
    }
    guard isNews else { return }
    do {
      _ = try await store.providerToken(of: key.identity) { stored in
        var record =
          stored
          ?? ProviderTokenRecord(
            jwt: presented.jwt, issuedAt: presented.issuedAt, refusedUntil: nil)
        record.refusedUntil = until
        return record
      }
    } catch {
      throw .store(error)
    }
  }

  // MARK: Store

  private typealias Decide =
    @Sendable (ProviderTokenPolicy.Age?, UnixMilliseconds?, UnixMilliseconds) ->
    ProviderTokenPolicy.Decision

  private func update(
    _ key: ProviderKey, decide: @escaping Decide,
    isCurrent: @escaping @Sendable (ProviderToken) -> Bool = { _ in false }
  ) async throws(ProviderTokenFailure) -> ProviderToken {
    let failure = Lock<ProviderTokenFailure?>(nil)
    let record: ProviderTokenRecord
    do {
      record = try await store.providerToken(of: key.identity) { stored throws(StoreError) in
        try self.next(after: stored, key, decide, isCurrent, failure)
      }
    } catch {
      throw failure.withLock { $0 } ?? .store(error)
    }
    if let failure = failure.withLock({ $0 }) { throw failure }
    return remember(record, of: key)
  }

  /// The record that follows the stored one; runs under the store's lock.
  private func next(
    after stored: ProviderTokenRecord?, _ key: ProviderKey, _ decide: Decide,
    _ isCurrent: (ProviderToken) -> Bool, _ failure: Lock<ProviderTokenFailure?>
  ) throws(StoreError) -> ProviderTokenRecord {
    let now = clocks.wallTime()
    let token = stored.flatMap { ProviderToken(record: $0, key: key.identity) }
    if let stored, let token, isCurrent(token) { return stored }
    let refusedUntil = stored?.refusedUntil
    switch decide(token.map { age(of: $0, key, now) }, refusedUntil, now) {
    case .use:
      if let stored { return stored }
    case .wait(let until):
      failure.withLock { $0 = .refused(key, until: until, now: now) }
      if let stored { return stored }
    case .mint: break
    }
    do {
      let minted = try key.mint(issuedAt: now.seconds)
      return ProviderTokenRecord(jwt: minted.jwt, issuedAt: minted.issuedAt, refusedUntil: nil)
    } catch {
      failure.withLock { $0 = .signing(error) }
      throw StoreError(
        code: .internal, operation: "sign a provider token", underlying: error.underlying,
        remedy: "Check the OpenSSL installation")
    }
  }

  /// The age of a stored token, by the monotonic clock too when it is the one this process knows.
  private func age(of token: ProviderToken, _ key: ProviderKey, _ now: UnixMilliseconds)
    -> ProviderTokenPolicy.Age
  {
    let monotonic = clocks.monotonicTime()
    return entries.withLock { entries in
      guard let entry = entries[key.identity], entry.token == token else {
        return ProviderTokenPolicy.Age(wall: Self.wallAge(of: token, now))
      }
      return Self.age(of: token, entry.ageWhenSeen, entry.seenAt, now, monotonic)
    }
  }

  private func remember(_ record: ProviderTokenRecord, of key: ProviderKey) -> ProviderToken {
    let token = ProviderToken(jwt: record.jwt, issuedAt: record.issuedAt)
    let wallAge = Self.wallAge(of: token, clocks.wallTime())
    let monotonic = clocks.monotonicTime()
    entries.withLock { entries in
      let old = entries[key.identity]
      if let old, old.token == token {
        entries[key.identity]?.refusedUntil = record.refusedUntil
        return
      }
      entries[key.identity] = Entry(
        token: token, refusedUntil: record.refusedUntil, ageWhenSeen: max(.zero, wallAge),
        seenAt: monotonic,
        previous: old.map { .init(token: $0.token, ageWhenSeen: $0.ageWhenSeen, seenAt: $0.seenAt) }
      )
    }
    return token
  }

  private func stopPresentingPrevious(_ key: ProviderKey) {
    entries.withLock { $0[key.identity]?.presentsPrevious = false }
  }

  private static func wallAge(of token: ProviderToken, _ now: UnixMilliseconds) -> Duration {
    .seconds(now.seconds &- token.issuedAt)
  }

  private static func age(
    of token: ProviderToken, _ ageWhenSeen: Duration, _ seenAt: MonotonicTime,
    _ now: UnixMilliseconds,
    _ monotonic: MonotonicTime
  ) -> ProviderTokenPolicy.Age {
    ProviderTokenPolicy.Age(
      wall: wallAge(of: token, now), monotonic: ageWhenSeen + monotonic.since(seenAt))
  }
}
