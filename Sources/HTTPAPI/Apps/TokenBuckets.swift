import Operations

/// How often each of many keys may come: a bucket a key, that fills with time and pays for each call.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
  private struct Bucket {
    var calls: Double
    var at: MonotonicTime
  }

  /// How many calls may come at once.
  let burst: Double
  /// How many more each second.
  let rate: Double
  /// How many keys are told apart; beyond, all new ones share a bucket, so that nobody fills the memory with addresses.
  let keyLimit: Int
  private var buckets: [Key: Bucket] = [:]
  private var shared: Bucket?
  /// When full buckets were looked for last.
  private var sweptAt: MonotonicTime?

  init(burst: Double, rate: Double, keyLimit: Int = 10_000) {
    self.burst = burst
    self.rate = rate
    self.keyLimit = keyLimit
  }

  /// Takes one call of a key; false when it is one too many.
  mutating func take(_ key: Key, now: MonotonicTime) -> Bool {
    if let bucket = buckets[key] {
      let (rest, isTaken) = taken(bucket, now)
      buckets[key] = rest
      return isTaken
    }
    // Once a second, or whoever invents addresses would have all buckets looked through for each.
    if buckets.count >= keyLimit, sweptAt.map({ now.since($0) >= .seconds(1) }) ?? true { forgetFull(now) }
    guard buckets.count < keyLimit else {
      let (rest, isTaken) = taken(shared ?? Bucket(calls: burst, at: now), now)
      shared = rest
      return isTaken
    }
    buckets[key] = Bucket(calls: burst - 1, at: now)
    return true
  }

  private func taken(_ bucket: Bucket, _ now: MonotonicTime) -> (Bucket, Bool) {
    let calls = calls(in: bucket, now)
    return calls >= 1 ? (Bucket(calls: calls - 1, at: now), true) : (Bucket(calls: calls, at: now), false)
  }

  private func calls(in bucket: Bucket, _ now: MonotonicTime) -> Double {
    min(burst, bucket.calls + Double(now.since(bucket.at).wholeNanoseconds) / 1e9 * rate)
  }

  /// A full bucket is as good as none.
  private mutating func forgetFull(_ now: MonotonicTime) {
    sweptAt = now
    buckets = buckets.filter { calls(in: $0.value, now) < burst }
  }
}

/// The limits of the surfaces that everybody reaches, shared by all listeners of the process.
final class SurfaceLimits: Sendable {
  /// Calls of apps from one address: a launch makes three or four, and a mobile network has many phones behind one address.
  private let apps = Lock(TokenBuckets<IPAddress?>(burst: 300, rate: 20))
  /// Publishes and other calls with the key of one Beams instance.
  private let instances = Lock(TokenBuckets<String>(burst: 100, rate: 100))

  /// Whether an app may call from this address. IPv6 addresses count by their network of 64 bits, which one subscriber has.
  func allowsApp(_ address: IPAddress?, now: MonotonicTime) -> Bool {
    apps.withLock { $0.take(address?.network64, now: now) }
  }

  /// Whether the backend of an instance may call.
  func allowsBackend(of instance: String, now: MonotonicTime) -> Bool {
    instances.withLock { $0.take(instance, now: now) }
  }
}
