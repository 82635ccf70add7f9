import Operations

/// What APNs does with a push that it has accepted: delivers it, or keeps it for a device that is offline.
///
/// APNs stores one push for a device and topic, the newest, until its `apns-expiration` and for 30 days at most; with 0 it
/// stores none. Source: Apple, "Sending notification requests to APNs".
struct DeliveryStore: Sendable {
  /// How many deliveries are remembered; older ones are forgotten.
  static let logLimit = 1000
  static let storageLimitMilliseconds: Int64 = 30 * 24 * 3_600_000

  private var stored: [Place: AcceptedPush] = [:]
  private(set) var log: [Delivery] = []

  private struct Place: Hashable {
    var environment: Environment
    var deviceToken: String
    var topic: String
  }

  /// Takes a push that was answered with 200.
  mutating func accept(_ push: AcceptedPush, isOffline: Bool, now: UnixMilliseconds) {
    guard isOffline else { return note(push, isExpired(push, now) ? .expired : .delivered, now) }
    guard push.expiration != 0 else { return note(push, .discarded, now) }
    let place = Place(environment: push.environment, deviceToken: push.deviceToken, topic: push.topic)
    if let older = stored.updateValue(push, forKey: place) {
      note(older, isExpired(older, now) ? .expired : .replaced, now)
    }
    note(push, .stored, now)
  }

  /// Delivers what is stored for a device that is online again.
  mutating func comesOnline(_ deviceToken: String, now: UnixMilliseconds) {
    for (place, push) in stored.filter({ $0.key.deviceToken == deviceToken }) {
      stored[place] = nil
      note(push, isExpired(push, now) ? .expired : .delivered, now)
    }
  }

  /// Forgets everything.
  mutating func reset() { self = DeliveryStore() }

  private func isExpired(_ push: AcceptedPush, _ now: UnixMilliseconds) -> Bool {
    if let expiration = push.expiration, expiration != 0, expiration <= now.seconds { return true }
    return now.value - push.acceptedAt.value > Self.storageLimitMilliseconds
  }

  private mutating func note(_ push: AcceptedPush, _ state: Delivery.State, _ now: UnixMilliseconds) {
    if log.count == Self.logLimit { log.removeFirst(Self.logLimit / 2) }
    log.append(Delivery(push: push, state: state, at: now))
  }
}

/// A push that was answered with 200.
struct AcceptedPush: Sendable, Equatable {
  var environment: Environment
  /// In lower case.
  var deviceToken: String
  var topic: String
  var messageID: String
  /// `apns-unique-id`; nil in production.
  var uniqueID: String?
  /// `apns-expiration` in seconds; nil: absent, kept as long as APNs keeps anything.
  var expiration: Int64?
  var acceptedAt: UnixMilliseconds
}

/// A line of the delivery log.
struct Delivery: Sendable, Equatable {
  enum State: String, Sendable {
    /// The device has it.
    case delivered
    /// The device is offline; APNs keeps it.
    case stored
    /// A newer push for the same device and topic took its place in the store.
    case replaced
    /// Its time was over before the device came online.
    case expired
    /// The device was offline, and `apns-expiration: 0` forbids to keep it.
    case discarded
  }

  var push: AcceptedPush
  var state: State
  var at: UnixMilliseconds
}
