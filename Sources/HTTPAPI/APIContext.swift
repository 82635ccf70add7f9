import Operations
import PushCore

/// What the endpoints work with; put together by the program.
public struct APIContext: Sendable {
  /// Registry, queue and receipts.
  public var store: any FullStore
  /// The apps of the settings.
  public var apps: AppDirectory
  /// The clocks.
  public var clocks: any Clocks
  /// The log.
  public var logger: Logger
  /// The process's counters.
  public var metrics: Metrics
  /// What is found out only when `/metrics` is asked for.
  public var gauges: @Sendable () async -> [PrometheusText.Gauge]
  /// SHA-256.
  public var sha256: @Sendable ([UInt8]) -> [UInt8]
  /// The words for a reason; the text is that of a reason only the store knows.
  public var reasonText: @Sendable (ReasonID, String?) -> String?
  /// The `apns-id` of a notification's push to a device.
  public var apnsID: @Sendable (NotificationID, DeviceID) throws -> String
  /// Makes a topic of a configured app known to the store.
  public var bind: @Sendable (String) async throws -> Void
  /// The program's version.
  public var version: String
  /// What the settings say of apps and of Beams.
  public var policy: SurfacePolicy
  /// The limits of the surfaces that everybody reaches.
  let limits = SurfaceLimits()

  /// A context by its parts.
  public init(
    store: any FullStore, apps: AppDirectory, clocks: any Clocks, logger: Logger, metrics: Metrics,
    gauges: @escaping @Sendable () async -> [PrometheusText.Gauge] = { [] },
    sha256: @escaping @Sendable ([UInt8]) -> [UInt8],
    reasonText: @escaping @Sendable (ReasonID, String?) -> String?,
    apnsID: @escaping @Sendable (NotificationID, DeviceID) throws -> String,
    bind: @escaping @Sendable (String) async throws -> Void, version: String, policy: SurfacePolicy
  ) {
    self.policy = policy
    self.store = store
    self.apps = apps
    self.clocks = clocks
    self.logger = logger
    self.metrics = metrics
    self.gauges = gauges
    self.sha256 = sha256
    self.reasonText = reasonText
    self.apnsID = apnsID
    self.bind = bind
    self.version = version
  }
}

/// The apps of the settings, which a reload replaces.
public final class AppDirectory: Sendable {
  private let apps: Lock<[Configuration.App]>

  /// A directory of apps.
  public init(_ apps: [Configuration.App]) { self.apps = Lock(apps) }

  /// Takes other apps from now on.
  public func replace(_ apps: [Configuration.App]) { self.apps.withLock { $0 = apps } }

  /// The app that a topic belongs to.
  func app(for topic: String) -> Configuration.App? {
    let apps = apps.withLock { $0 }
    return apps.first { $0.topic == topic } ?? apps.first { TopicText.belongs(topic, to: $0.topic) }
  }

  /// The topic of the app that a topic belongs to: the configured one, else the bundle id.
  func appTopic(of topic: String) -> String { app(for: topic)?.topic ?? TopicText.bundleID(of: topic) }

  /// The topic of the only app; nil when there are several or none.
  var onlyTopic: String? { apps.withLock { $0.count == 1 ? $0[0].topic : nil } }

  /// Whether there is any.
  var isEmpty: Bool { apps.withLock { $0.isEmpty } }
}
