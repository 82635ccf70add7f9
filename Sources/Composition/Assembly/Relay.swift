import APNs
import Delivery
import HTTPAPI
import Operations
import PushCore
import Webhooks

/// The daemon: store, sender, worker, webhooks and listeners, put together from the settings.
public final class Relay: Sendable {
  private let context: CommandContext
  private let logger: Logger
  private let store: any FullStore
  private let sender: APNsSender
  private let worker: Worker
  private let webhooks: WebhookService
  private let apps: AppDirectory
  private let server: HTTPServer?

  /// Loads every key, opens the store, makes the apps known and listens; nothing is claimed before all of that has worked.
  ///
  /// - Parameter listens: whether HTTP is served too, at the listeners of the settings.
  public static func start(
    _ context: CommandContext, listens: Bool, version: ProductVersion
  ) async throws -> Relay {
    let configuration = context.configuration
    guard !configuration.apps.isEmpty else {
      throw ConfigurationError([
        ConfigurationFinding(.error, "no app is configured", remedy: "write pushrelay.json, and see pushrelay check")
      ])
    }
    let logger = Logger(configuration.log, clocks: context.clocks)
    let keys = try KeyRing(configuration.apps, clocks: context.clocks)
    let store = try await StoreFactory.open(configuration.store, clocks: context.clocks, logger: logger)
    let metrics = Metrics()
    let sender = try context.sender(
      keys: keys, tokens: store, log: ConnectionLog(logger: logger, metrics: metrics))
    var settings = WorkerConfiguration(owner: Int64.random(in: 1...Int64.max))
    settings.payloadRetention = configuration.retention.payloads
    settings.receiptRetention = configuration.retention.receipts
    let log = WorkerLog(logger: logger, metrics: metrics)
    let worker = Worker(
      store: store, sender: sender, clocks: context.clocks, configuration: settings, events: log.note)
    let webhooks = WebhookService(
      store: store, policy: WebhookPolicy(configuration.webhooks), clocks: context.clocks,
      events: WebhookLog(logger: logger, metrics: metrics).note)
    let apps = AppDirectory(configuration.apps)
    try await bind(keys, store, logger)
    let server =
      listens && !configuration.listeners.isEmpty
      ? try context.apiServer(
        store: store, apps: apps, logger: logger, metrics: metrics, gauges: sender.gauges, version: version.version)
      : nil
    let relay = Relay(
      context: context, logger: logger, store: store, sender: sender, worker: worker, webhooks: webhooks, apps: apps,
      server: server)
    try await relay.takeUp()
    return relay
  }

  private init(
    context: CommandContext, logger: Logger, store: any FullStore, sender: APNsSender, worker: Worker,
    webhooks: WebhookService, apps: AppDirectory, server: HTTPServer?
  ) {
    self.context = context
    self.logger = logger
    self.store = store
    self.sender = sender
    self.worker = worker
    self.webhooks = webhooks
    self.apps = apps
    self.server = server
  }

  /// Works until a stop event; then open streams may finish within the grace period, and the rest is handed back.
  public func run(events: AsyncStream<Signals.Event>) async throws {
    logger.info(
      "serving",
      [
        "store": .describing(context.configuration.store), "app.count": .count(context.configuration.apps.count),
      ])
    let grace = context.configuration.shutdownGrace
    // What is canceled after that has had its chance: the worker hands back at the end of its own grace.
    var services = ServiceGroup(grace: grace + .seconds(5), clocks: context.clocks, logger: logger)
    services.add("webhooks", webhooks)
    services.add("worker", WorkerService(worker: worker, grace: grace))
    if let server { services.add("listeners", server) }
    try await services.run(events: events) { await self.reload() }
    await sender.close(grace: .zero)
    await store.close()
    logger.info("stopped")
  }

  private static func bind(_ keys: KeyRing, _ store: any FullStore, _ logger: Logger) async throws {
    for warning in keys.warnings { logger.warning("a certificate needs care", ["finding": .describing(warning)]) }
    _ = try await store.bind(keys.bindings)
  }

  /// Takes up work again that a refused credential held: it may be mended now, and if it is not, the next refusal holds it again without
  /// counting a try.
  private func takeUp() async throws {
    let credentials = try await store.credentials()
    sender.learn(credentials)
    let held = credentials.filter {
      $0.heldSince != nil && $0.heldReason != Credential.pausedByOperator && sender.canSign($0)
    }
    if !held.isEmpty { try await store.resume(held.map(\.id)) }
  }

  /// Reads apps and keys again. What is wrong with them is logged, and the old ones stay.
  private func reload() async {
    do {
      let fresh = try CommandContext(context.invocation, context.console)
      let keys = try KeyRing(fresh.configuration.apps, clocks: context.clocks)
      // What can fail comes first: apps and keys change together or not at all.
      try await Self.bind(keys, store, logger)
      apps.replace(fresh.configuration.apps)
      sender.replaceApps(keys.apps)
      try await takeUp()
      await worker.credentialsChanged()
      for setting in fresh.configuration.settingsThatNeedRestart(after: context.configuration) {
        logger.warning("a changed setting takes effect at the next start", ["setting": .string(setting)])
      }
      logger.info("reloaded apps and keys", ["app.count": .count(fresh.configuration.apps.count)])
    } catch {
      logger.error("not reloaded; the old apps and keys stay", ["error": .string("\(error)")])
    }
  }
}

/// The worker as a service of the group.
private struct WorkerService: Service {
  let worker: Worker
  let grace: Duration

  func run() async { await worker.run() }
  func stop() { worker.stop(grace: grace) }
}

extension Configuration {
  /// The settings that differ and that a running relay cannot change.
  fileprivate func settingsThatNeedRestart(after former: Configuration) -> [String] {
    var names: [String] = []
    if store != former.store { names.append("store") }
    if listeners != former.listeners { names.append("listeners") }
    if trustedProxies != former.trustedProxies { names.append("trusted_proxies") }
    if webhooks != former.webhooks { names.append("webhooks") }
    if apns != former.apns { names.append("apns") }
    if retention != former.retention { names.append("retention") }
    if shutdownGrace != former.shutdownGrace { names.append("shutdown_grace") }
    if log != former.log { names.append("log") }
    return names
  }
}
