import JSON

/// Reads the settings: flag before environment before file before default.
public struct ConfigurationLoader: Sendable {
  /// The largest config file that is read.
  static let fileLimit = 1 << 20

  private let flags: [String: String]
  private let variables: ProcessEnvironment
  private let usesKeys: Bool

  /// A loader for options by their names, such as `config`, `store` and `log-level`; names that set nothing are passed over.
  ///
  /// - Parameter usesKeys: whether the apps' keys are looked for; a command that never signs must work without them.
  public init(flags: [String: String] = [:], environment: ProcessEnvironment, usesKeys: Bool = true) {
    self.flags = flags
    variables = environment
    self.usesKeys = usesKeys
  }

  /// A loader for the options of a command that was called.
  public init(_ invocation: Invocation, environment: ProcessEnvironment, usesKeys: Bool = true) {
    var flags: [String: String] = [:]
    for name in ["config"] + Settings.all.compactMap(\.flag) where invocation.takes(name) {
      flags[name] = invocation.value(name)
    }
    self.init(flags: flags, environment: environment, usesKeys: usesKeys)
  }

  /// Reads everything and reports all faults together.
  public func load() -> ConfigurationReport {
    var draft = ConfigurationDraft(variables: variables, usesKeys: usesKeys)
    if let path = findFile(&draft) { read(path, &draft) }
    for setting in Settings.all {
      guard let variable = setting.variable, let text = variables[variable] else { continue }
      draft.apply(setting, .text(text), from: .environment(variable), folder: "")
    }
    applyProxyVariables(&draft)
    for setting in Settings.all {
      guard let flag = setting.flag, let text = flags[flag] else { continue }
      draft.apply(setting, .text(text), from: .flag(flag), folder: "")
    }
    checkVariables(&draft)
    checkBeams(&draft)
    return ConfigurationReport(configuration: draft.configuration, findings: draft.findings)
  }

  /// Takes the proxy that the environment names. One that cannot be used is no fault of commands that need no network:
  /// ``Configuration/APNs/proxy(for:)`` throws it.
  private func applyProxyVariables(_ draft: inout ConfigurationDraft) {
    let exceptions = ProxyExceptions.variables.lazy.compactMap { variables[$0] }.first
    draft.configuration.apns.proxyExceptions = ProxyExceptions(exceptions ?? "")
    guard flags["proxy"] == nil, let name = ProxyLocation.variables.first(where: { variables[$0] != nil }),
      let text = variables[name]
    else { return }
    do {
      draft.configuration.apns.proxy = try ProxyLocation.parse(text)
      draft.configuration.sources["apns.proxy"] = .environment(name)
    } catch {
      draft.configuration.apns.unusableProxy = ConfigurationFinding(
        .error, place: "environment \(name)", error.message,
        remedy: "\(error.remedy.isEmpty ? "mend it" : error.remedy), or list APNs in NO_PROXY to reach it directly")
    }
  }

  /// The file to read: the one named, which must exist, or the first of the default places that does.
  private func findFile(_ draft: inout ConfigurationDraft) -> String? {
    let named: (path: String, source: Configuration.Source)? =
      flags["config"].map { ($0, .flag("config")) }
      ?? variables[Settings.fileVariable].map { ($0, .environment(Settings.fileVariable)) }
    let candidates = named.map { [$0.path] } ?? Settings.defaultFiles
    for path in candidates {
      do {
        try checkReadable(path, seenFrom: "")
        return path
      } catch {
        if named == nil, isAbsent(path) { continue }
        draft.add(.error, from: named?.source, "", error)
        return nil
      }
    }
    return nil
  }

  private func isAbsent(_ path: String) -> Bool {
    do {
      _ = try Files.status(of: path)
      return false
    } catch {
      return error.isNotFound
    }
  }

  private func read(_ path: String, _ draft: inout ConfigurationDraft) {
    let bytes: [UInt8]
    do {
      bytes = try Files.read(path, limit: Self.fileLimit)
    } catch {
      draft.findings.append(
        ConfigurationFinding(
          .error, place: path, "cannot be read: \(error.reason)",
          exitCode: error.isNotAllowed ? .notAllowed : .configuration))
      return
    }
    draft.configuration.file = path
    do {
      let document = try JSONValue(parsing: bytes, syntax: .relaxed)
      ConfigurationFileReader(path: path, bytes: bytes).read(document, &draft)
    } catch {
      let place = "\(path):\(error.line)"
      draft.findings.append(
        ConfigurationFinding(.error, place: place, "is not JSON at column \(error.column): \(error.message)"))
    }
  }

  /// Beams instances whose topics no app has: their devices could never be reached.
  private func checkBeams(_ draft: inout ConfigurationDraft) {
    guard !draft.configuration.apps.isEmpty else { return }
    for (index, instance) in draft.configuration.beams.enumerated() {
      for topic in instance.topics where draft.configuration.app(for: topic) == nil {
        draft.add(
          .error, from: draft.configuration.source(of: Settings.beams), "\(Settings.beams)[\(index)].topics",
          SettingFault("names \(shown(topic)), which no app has", remedy: "add the app, or correct the topic"))
      }
    }
  }

  /// Variables that look like ours and do nothing.
  private func checkVariables(_ draft: inout ConfigurationDraft) {
    let known = Settings.all.compactMap(\.variable) + [Settings.fileVariable]
    let keyIDs = draft.configuration.apps.compactMap(\.keyID)
    for name in variables.variables.keys.sorted() where name.hasPrefix("PUSHRELAY_") && !known.contains(name) {
      let place = "environment \(name)"
      if name == Settings.apiKeyVariable {
        draft.findings.append(
          ConfigurationFinding(.warning, place: place, "has no effect: remote relays are not in this version"))
      } else if name.hasPrefix(Settings.keyVariablePrefix) {
        if keyIDs.isEmpty || keyIDs.contains(String(name.dropFirst(Settings.keyVariablePrefix.count))) { continue }
        draft.findings.append(ConfigurationFinding(.warning, place: place, "has no effect: no app has that key ID"))
      } else {
        let nearest = NearestName.nearest(to: name, in: known).map { "the nearest variable is \($0)" } ?? ""
        draft.findings.append(ConfigurationFinding(.warning, place: place, "has no effect", remedy: nearest))
      }
    }
  }
}

/// What was read, and what is wrong with it.
public struct ConfigurationReport: Sendable {
  /// The settings; where a value is wrong, the one it would have had without it.
  public let configuration: Configuration
  /// Everything wrong or doubtful, in the order found.
  public let findings: [ConfigurationFinding]

  /// What nothing can start with.
  public var errors: [ConfigurationFinding] { findings.filter { $0.severity == .error } }
  /// What is only doubtful.
  public var warnings: [ConfigurationFinding] { findings.filter { $0.severity == .warning } }

  /// The settings, when nothing is wrong with them.
  /// - Throws: ``ConfigurationError`` with every fault.
  public func get() throws(ConfigurationError) -> Configuration {
    guard errors.isEmpty else { throw ConfigurationError(errors) }
    return configuration
  }
}

/// The settings while they are read.
struct ConfigurationDraft {
  let variables: ProcessEnvironment
  let usesKeys: Bool
  var configuration = Configuration()
  var findings: [ConfigurationFinding] = []

  mutating func apply(_ setting: Setting, _ value: GivenValue, from source: Configuration.Source, folder: String) {
    do {
      try setting.apply(value, folder, &configuration)
      configuration.sources[setting.name] = source
    } catch {
      // An option is its own name, and may set two settings: its fault is one.
      var name = setting.name
      if case .flag = source { name = "" }
      let finding = ConfigurationFinding(.error, from: source, setting: name, error)
      if !findings.contains(finding) { findings.append(finding) }
    }
  }

  mutating func add(
    _ severity: ConfigurationFinding.Severity, from source: Configuration.Source?, _ setting: String,
    _ fault: SettingFault
  ) {
    findings.append(ConfigurationFinding(severity, from: source ?? .standard, setting: setting, fault))
  }
}
