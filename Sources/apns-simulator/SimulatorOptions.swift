import APNsSimulator
import Operations

/// Turns options into a simulator's configuration.
struct SimulatorOptions {
  let invocation: Invocation

  func configuration() throws -> SimulatorConfiguration {
    guard let folder = invocation.value("tls-dir") else {
      throw invocation.usageError("--tls-dir is missing: the folder of the simulator's certificates")
    }
    let checks = !invocation.flag("no-checks")
    var rules = RequestRules(
      providerTokens: ProviderTokenRules(keys: try keys(needed: checks && invocation.value("client-ca") == nil)),
      topics: TopicRules(bundleIDs: try bundleIDs(invocation.values("topic"), of: "topic")),
      devices: DeviceRegistry(strict: invocation.flag("strict-devices")))
    var knobs: Set<Substring> = []
    for text in invocation.values("knob") {
      let name = text.prefix { $0 != "=" }
      guard knobs.insert(name).inserted else { throw invocation.usageError("--knob: '\(name)' is given twice") }
      do {
        try rules.knobs.set(text)
      } catch {
        throw invocation.usageError("--knob: \(error)")
      }
    }
    for text in invocation.values("device") {
      let (deviceToken, state) = try device(text)
      rules.devices[deviceToken] = state
    }
    var configuration = SimulatorConfiguration(tlsDirectory: folder, rules: rules)
    configuration.listeners = try listeners()
    configuration.tlsNames = invocation.values("tls-name")
    configuration.clientAuthorityFile = invocation.value("client-ca")
    configuration.checks = checks
    configuration.answerDelay = try invocation.duration("delay") ?? .zero
    configuration.logPath = invocation.value("log")
    if let path = invocation.value("script") { configuration.script = try FaultScript(file: path) }
    configuration.control = try invocation.value("control").map(control)
    return configuration
  }

  /// Bundle ids as they are given with an option.
  func bundleIDs(_ texts: [String], of option: String) throws(UsageError) -> [String] {
    for text in texts where !TopicRules.isWellFormed(text) {
      throw invocation.usageError("--\(option): '\(text)' is no bundle id such as com.example.app")
    }
    return texts
  }

  private func listeners() throws(UsageError) -> [SimulatorConfiguration.Listener] {
    let texts = invocation.values("listen")
    var listeners: [SimulatorConfiguration.Listener] = []
    for text in texts.isEmpty ? ["127.0.0.1:2197"] : texts { listeners.append(try listener(text)) }
    return listeners
  }

  private func listener(_ text: String) throws(UsageError) -> SimulatorConfiguration.Listener {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard let role = parts.count == 1 ? ListenerRole(.production) : ListenerRole(listenerName: parts[0]),
      let address = parts.last, let (host, port) = hostAndPort(address)
    else {
      throw invocation.usageError(
        "--listen must be [production=|sandbox=|manage-production=|manage-sandbox=]HOST:PORT, such as "
          + "sandbox=127.0.0.1:2197 or [::1]:0, not '\(text)'")
    }
    return SimulatorConfiguration.Listener(
      role.environment, managesChannels: role.managesChannels, host: host, port: port)
  }

  /// Whoever reaches it may do anything to the simulator, so it is this machine's alone.
  private func control(_ text: String) throws(UsageError) -> SimulatorConfiguration.Listener {
    guard let (host, port) = hostAndPort(text), ["127.0.0.1", "::1", "localhost"].contains(host) else {
      throw invocation.usageError("--control must be 127.0.0.1:PORT, [::1]:PORT or localhost:PORT, not '\(text)'")
    }
    return SimulatorConfiguration.Listener(host: host, port: port)
  }

  private func hostAndPort(_ address: String) -> (host: String, port: UInt16)? {
    guard let colon = address.lastIndex(of: ":") else { return nil }
    let digits = address[address.index(after: colon)...]
    guard digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let port = UInt16(digits)
    else { return nil }
    var host = address[..<colon]
    if host.hasPrefix("["), host.hasSuffix("]") {
      host = host.dropFirst().dropLast()
    } else if host.contains(":") {
      return nil
    }
    return host.isEmpty ? nil : (String(host), port)
  }

  private func device(_ text: String) throws(UsageError) -> (deviceToken: String, state: DeviceState) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    guard parts.count == 2, DeviceRegistry.isDeviceToken(parts[0]), let state = DeviceState(parts[1]) else {
      throw invocation.usageError(
        "--device must be TOKEN=ok, offline, unregistered, unregistered@MILLISECONDS, bad or other-topic, with TOKEN in "
          + "hexadecimal digits, not '\(text)'")
    }
    return (parts[0], state)
  }
}
