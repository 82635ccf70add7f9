import HTTPAPI
import Operations
import PushCore

/// The listeners alone: `pushrelay api`, beside workers on the same store.
public final class APIService: Sendable {
  private let context: CommandContext
  private let logger: Logger
  private let store: any FullStore
  private let apps: AppDirectory
  private let server: HTTPServer

  /// Opens the store, makes the apps known and listens.
  public static func start(_ context: CommandContext, version: ProductVersion) async throws -> APIService {
    let configuration = context.configuration
    guard !configuration.listeners.isEmpty else {
      throw ConfigurationError([
        ConfigurationFinding(
          .error, setting: "listeners", "names no address, so there is nothing to serve",
          remedy: #"write "listeners": [{ "address": "127.0.0.1:8080", "serve": ["backend"] }]"#)
      ])
    }
    let logger = Logger(configuration.log, clocks: context.clocks)
    let store = try await StoreFactory.open(configuration.store, clocks: context.clocks, logger: logger)
    do {
      try await context.bind(store, topics: configuration.apps.map(\.topic))
      let apps = AppDirectory(configuration.apps)
      let server = try context.apiServer(
        store: store, apps: apps, logger: logger, metrics: Metrics(), version: version.version)
      return APIService(context: context, logger: logger, store: store, apps: apps, server: server)
    } catch {
      await store.close()
      throw error
    }
  }

  private init(
    context: CommandContext, logger: Logger, store: any FullStore, apps: AppDirectory, server: HTTPServer
  ) {
    self.context = context
    self.logger = logger
    self.store = store
    self.apps = apps
    self.server = server
  }

  /// Serves until a stop event; then open requests may finish within the grace period.
  public func run(events: AsyncStream<Signals.Event>) async throws {
    logger.info("serving", ["store": .describing(context.configuration.store)])
    var services = ServiceGroup(
      grace: context.configuration.shutdownGrace + .seconds(5), clocks: context.clocks, logger: logger)
    services.add("listeners", server)
    try await services.run(events: events) { await self.reload() }
    await store.close()
    logger.info("stopped")
  }

  /// Reads the apps again. What is wrong with them is logged, and the old ones stay.
  private func reload() async {
    do {
      let fresh = try CommandContext(context.invocation, context.console, usesKeys: false)
      try await fresh.bind(store, topics: fresh.configuration.apps.map(\.topic))
      apps.replace(fresh.configuration.apps)
      logger.info("reloaded apps", ["app.count": .count(fresh.configuration.apps.count)])
    } catch {
      logger.error("not reloaded; the old apps stay", ["error": .string("\(error)")])
    }
  }
}
