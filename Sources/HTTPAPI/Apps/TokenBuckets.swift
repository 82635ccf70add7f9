import Operations

/// How often each of many keys may come: a bucket a key, that fills with time and pays for each call. A few calls may come before
/// there is something to pay them with, and wait.
struct TokenBuckets<Key: Hashable & Sendable>: Sendable {
  private struct Bucket {
    var calls: Double
    var at: MonotonicTime
  }

  /// How many calls may come at once.
  let burst: Double
  /// How many more each second.
  let rate: Double
  /// How many may wait for their turn.
  let waiting: Double
  /// How many keys are told apart; beyond, all new ones share a bucket, so that nobody fills the memory with addresses.
  let keyLimit: Int
  private var buckets: [Key: Bucket] = [:]
  private var shared: Bucket?
  /// When full buckets were looked for last.
  private var sweptAt: MonotonicTime?

  init(burst: Double, rate: Double, waiting: Double = 0, keyLimit: Int = 10_000) {
    self.burst = burst
    self.rate = rate
    self.waiting = waiting
    self.keyLimit = keyLimit
  }

  /// Takes one call of a key: how long it is to wait for its turn; nil when it is one too many.
  mutating func take(_ key: Key, now: MonotonicTime) -> Duration? {
    if let bucket = buckets[key] {
      let (rest, wait) = taken(bucket, now)
      buckets[key] = rest
      return wait
    }
    // Once a second, or whoever invents addresses would have all buckets looked through for each.
    if buckets.count >= keyLimit, sweptAt.map({ now.since($0) >= .seconds(1) }) ?? true { forgetFull(now) }
    guard buckets.count < keyLimit else {
      let (rest, wait) = taken(shared ?? Bucket(calls: burst, at: now), now)
      shared = rest
      return wait
    }
    buckets[key] = Bucket(calls: burst - 1, at: now)
    return .zero
  }

  private func taken(_ bucket: Bucket, _ now: MonotonicTime) -> (Bucket, Duration?) {
    let calls = calls(in: bucket, now)
    let rest = calls - 1
    guard rest >= -waiting else { return (Bucket(calls: calls, at: now), nil) }
    return (Bucket(calls: rest, at: now), .seconds(max(-rest, 0) / rate))
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
  /// Calls of apps from one address: a launch makes three or four, and a mobile network has thousands of phones behind one
  /// address. Who comes faster is slowed down for up to a second before anything is refused.
  private let apps = Lock(TokenBuckets<IPAddress?>(burst: 500, rate: 100, waiting: 100))
  /// Publishes and other calls with the key of one Beams instance.
  private let instances = Lock(TokenBuckets<String>(burst: 100, rate: 100))

  /// How long a call of an app from this address waits; nil: it is refused. IPv6 addresses count by their network of 64 bits,
  /// which one subscriber has.
  func wait(ofApp address: IPAddress?, now: MonotonicTime) -> Duration? {
    apps.withLock { $0.take(address?.network64, now: now) }
  }

  /// Whether the backend of an instance may call.
  func allowsBackend(of instance: String, now: MonotonicTime) -> Bool {
    instances.withLock { $0.take(instance, now: now) } != nil
  }
}
