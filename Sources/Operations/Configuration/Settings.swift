/// The table of settings: the one list from which reading, checking, printing and help are made.
///
/// Defaults are the first values of ``Configuration``'s properties. `apps`, `listeners` and `beams` are arrays with tables
/// of their own (`AppDraft.swift`, `ListenerDraft.swift`, `BeamsDraft.swift`).
enum Settings {
  static let all: [Setting] = [
    Setting(
      "store", \.store, .store, variable: "PUSHRELAY_STORE", flag: "store",
      "where queue, registry and receipts lie: sqlite:PATH or postgresql://…"),
    Setting("apns.production", \.apns.production, .host, flag: "host", "host and port of APNs for production"),
    Setting("apns.sandbox", \.apns.sandbox, .host, flag: "host", "host and port of APNs for the sandbox"),
    Setting(
      "apns.ca_file", \.apns.authoritiesFile, .optionalFile, flag: "ca",
      "PEM file of authorities to trust beside the system's"),
    Setting(
      "apns.proxy", \.apns.proxy, .optionalProxy, flag: "proxy",
      "HTTP proxy to reach APNs through, http://USER:PASSWORD@HOST:PORT; also by HTTPS_PROXY or ALL_PROXY"),
    Setting(
      "apns.connections", \.apns.connections, .integer(1...16), "connections for each credential and environment"),
    Setting(
      "apns.request_timeout", \.apns.requestTimeout, .duration(.milliseconds(100)...(.seconds(300))),
      "how long an answer is waited for"),
    Setting(
      "apns.ping_interval", \.apns.pingInterval, .duration(.seconds(1)...(.seconds(3600))),
      "how long a connection is quiet before a PING"),
    Setting(
      "retention.receipts", \.retention.receipts, .duration(.zero...DurationText.longest), "how long receipts are kept"),
    Setting(
      "retention.payloads", \.retention.payloads, .duration(.zero...DurationText.longest),
      "how long payloads are kept after the final state"),
    Setting(
      "shutdown_grace", \.shutdownGrace, .duration(.zero...(.seconds(600))),
      "how long open streams may take to finish at the end"),
    Setting(
      "log.level", \.log.level, .choice, variable: "PUSHRELAY_LOG_LEVEL", flag: "log-level",
      "least severe events to log"),
    Setting("log.format", \.log.format, .choice, flag: "log-format", "form of the log lines"),

    Setting(
      "trusted_proxies", \.trustedProxies, .addressRanges,
      "addresses of reverse proxies whose X-Forwarded-For is believed, such as 10.0.0.0/8"),
    Setting(
      "device_api.default_topic", \.deviceAPI.defaultTopic, .optionalTopic,
      "topic of devices that name none; null = that of the only app"),
    Setting("device_api.environment", \.deviceAPI.environment, .choice, "environment of devices that do not say"),
    Setting(
      "device_api.open_endpoints", \.deviceAPI.openEndpoints, .choices(),
      "endpoints that everybody may use who reaches the surface `device`: `tokens`, `delete_token`, `notify`"),
    Setting(
      "users.allow_unverified", \.users.allowUnverified, .bool,
      "whether pushes to a user reach devices that were bound without proof"),
    Setting(
      "interests.protected", \.protectedInterests, .interestPatterns,
      "interests that apps cannot subscribe to by themselves; [] = all are open"),
    Setting(
      "webhooks.allowed_networks", \.webhooks.allowedNetworks, .addressRanges,
      "networks that webhooks of Beams may go to beside the public Internet, such as 10.0.0.0/8"),
    Setting("webhooks.allow_http", \.webhooks.allowHTTP, .bool, "whether webhooks may go to http:// too"),
  ]

  /// The array of apps.
  static let apps = "apps"

  /// The array of listeners.
  static let listeners = "listeners"

  /// The array of Beams instances.
  static let beams = "beams"

  /// Environment variables beside those of the table.
  static let fileVariable = "PUSHRELAY_CONFIG"
  static let apiKeyVariable = "PUSHRELAY_API_KEY"
  static let keyVariablePrefix = "PUSHRELAY_KEY_"

  /// The default places of the config file, in order.
  static let defaultFiles = ["pushrelay.json", "/etc/pushrelay/pushrelay.json"]

  static func named(_ name: String) -> Setting? { all.first { $0.name == name } }

  /// The names that may stand in the object of that name (empty: at the top), one level only.
  static func names(in section: String) -> [String] {
    let prefix = section.isEmpty ? "" : section + "."
    var names: [String] = section.isEmpty ? [apps, listeners, beams] : []
    for setting in all where setting.name.hasPrefix(prefix) {
      let name = String(setting.name.dropFirst(prefix.count).prefix { $0 != "." })
      if !names.contains(name) { names.append(name) }
    }
    return names
  }

  static func isSection(_ name: String) -> Bool { all.contains { $0.name.hasPrefix(name + ".") } }
}
