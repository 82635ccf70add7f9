import APNs
import Operations
import PushCore

extension CommandContext {
  /// A sender for apps, sharing provider tokens through `tokens`.
  public func sender(
    for apps: [Configuration.App], tokens: any ProviderTokenStore, within timeout: Duration
  ) throws -> APNsSender {
    let keys = try KeyRing(apps, clocks: clocks)
    for warning in keys.warnings { console.diagnose("\(warning)") }
    // Something of the time must be left to say why there was no connection.
    return try sender(
      keys: keys, tokens: tokens, connectTimeout: min(.seconds(10), timeout * 0.6),
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
    let findings = configuration.authorityFindings
    guard findings.isEmpty else { throw ConfigurationError(findings) }
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
    get async {
      if configuration.source(of: "store") != .standard { return true }
      return await StoreFactory.exists(configuration.store)
    }
  }
}

extension SendFailure: ExitCodeProviding {
  /// 69 when APNs cannot be reached or the sender cannot start, else 75.
  public var exitCode: ExitCode { kind == .unreachable ? .unavailable : .temporaryFailure }
}
