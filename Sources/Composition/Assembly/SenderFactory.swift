import APNs
import Operations
import PushCore

extension CommandContext {
  /// A sender for apps, sharing provider tokens through `tokens`.
  public func sender(
    for apps: [Configuration.App], tokens: any ProviderTokenStore, within timeout: Duration
  ) throws -> APNsSender {
    // Something of the time must be left to say why there was no connection.
    try sender(
      keys: KeyRing(apps), tokens: tokens, connectTimeout: min(.seconds(10), timeout * 0.8),
      requestTimeout: min(configuration.apns.requestTimeout, timeout))
  }

  func sender(
    keys: KeyRing, tokens: any ProviderTokenStore, connectTimeout: Duration? = nil, requestTimeout: Duration? = nil,
    log: ConnectionLog? = nil
  ) throws -> APNsSender {
    var settings = try APNsSenderConfiguration(configuration.apns)
    if let requestTimeout { settings.requestTimeout = requestTimeout }
    if let connectTimeout { settings.connectTimeout = connectTimeout }
    if let log { settings.onEvent = log.note }
    return try APNsSender(
      configuration: settings, apps: keys.apps, tokens: ProviderTokens(store: tokens, clocks: clocks), clocks: clocks)
  }

  /// Where provider tokens are shared without a store.
  public func providerTokenFile() throws -> any ProviderTokenStore {
    let directory = ProviderTokenFile.defaultDirectory(
      xdgStateHome: environment["XDG_STATE_HOME"], home: environment["HOME"])
    guard let directory else {
      throw ConfigurationError([
        ConfigurationFinding(
          .error, "there is no place to keep the provider token: neither XDG_STATE_HOME nor HOME is set",
          remedy: "set one of them, or name a store with --store")
      ])
    }
    return ProviderTokenFile(directory: directory, clocks: clocks)
  }

  /// Whether the store was named in the settings, or lies in its default place.
  public var hasStore: Bool {
    if configuration.source(of: "store") != .standard { return true }
    switch configuration.store {
    case .sqlite(let path):
      // Any failure to look means that there is none to share with.
      return (try? Files.status(of: path)) != nil
    }
  }
}

extension SendFailure: ExitCodeProviding {
  /// 69 when APNs cannot be reached or the sender cannot start, else 75.
  public var exitCode: ExitCode { kind == .unreachable ? .unavailable : .temporaryFailure }
}
