/// The fields of an app, in the file and on the command line.
enum AppField: String, CaseIterable {
  case topic
  case environment
  case teamID = "team_id"
  case keyID = "key_id"
  case keyFile = "key_file"

  /// The option that gives it on a command line.
  var flag: String {
    switch self {
    case .topic: "topic"
    case .environment: "environment"
    case .teamID: "team-id"
    case .keyID: "key-id"
    case .keyFile: "key"
    }
  }
}

/// What was said about one app, before it is checked.
struct AppDraft {
  /// A text and where it was given.
  struct Field {
    let text: String
    let source: Configuration.Source
    /// What a relative path is seen from.
    var folder = ""
  }

  /// The app in messages: `apps[0]`, or empty for one made of options.
  let name: String
  /// Where the app begins.
  let source: Configuration.Source
  /// What was said.
  var fields: [AppField: Field] = [:]
  /// Fields that something was found about already: they are not reported as missing too.
  private var faulty: Set<AppField> = []

  init(name: String, source: Configuration.Source) {
    self.name = name
    self.source = source
  }

  /// Notes that a field was given and cannot be used, under its own name or a misspelled one.
  mutating func markFaulty(_ field: AppField?) {
    if let field { faulty.insert(field) }
  }

  /// Checks everything that was said and makes the app of it; `nil` when a fault was found.
  ///
  /// - Parameters:
  ///   - variables: the environment, for `PUSHRELAY_KEY_<KEYID>`.
  ///   - usesKeys: whether the key is looked for.
  func app(
    _ variables: ProcessEnvironment, usesKeys: Bool, _ findings: inout [ConfigurationFinding]
  ) -> Configuration.App? {
    let topic = checked(.topic, &findings, AppRules.topic)
    let environment = fields[.environment] == nil ? .production : checked(.environment, &findings, AppRules.environment)
    let teamID = checked(.teamID, &findings, AppRules.identifier)
    let keyID = checked(.keyID, &findings, AppRules.identifier)
    let key = usesKeys ? keyLocation(keyID, variables, &findings) : nil
    guard faulty.isEmpty, let topic, let environment, let teamID, let keyID, key != nil || !usesKeys else { return nil }
    if let key { warn(teamID: teamID, keyID: keyID, key: key, &findings) }
    return Configuration.App(topic: topic, environment: environment, teamID: teamID, keyID: keyID, key: key)
  }

  private func checked<Value>(
    _ field: AppField, _ findings: inout [ConfigurationFinding], _ rule: (String) throws(SettingFault) -> Value
  ) -> Value? {
    guard let given = fields[field] else {
      let needed =
        name.isEmpty
        ? "give --topic, --team-id, --key-id and --key, or a config file"
        : "an app needs topic, team_id, key_id and key_file"
      addMissing(field, remedy: needed, &findings)
      return nil
    }
    do {
      return try rule(given.text)
    } catch {
      add(.error, field, error, &findings)
      return nil
    }
  }

  /// An option beats the environment, which beats the file. Without a key ID, which is reported elsewhere, only the file is looked at.
  private func keyLocation(
    _ keyID: String?, _ variables: ProcessEnvironment, _ findings: inout [ConfigurationFinding]
  ) -> Configuration.KeyLocation? {
    let variable = Settings.keyVariablePrefix + (keyID ?? "<KEYID>")
    var isFlag = false
    if case .flag = fields[.keyFile]?.source { isFlag = true }
    if !isFlag, let text = variables[variable] {
      do {
        try AppRules.checkKeyText(text)
      } catch {
        findings.append(
          ConfigurationFinding(.error, place: "environment \(variable)", error.message, remedy: error.remedy))
        return nil
      }
      return .text(SecretText(text), variable: variable)
    }
    guard let file = fields[.keyFile] else {
      addMissing(.keyFile, remedy: "name the .p8 file, or set \(variable) to its text", &findings)
      return nil
    }
    do {
      return .file(path: try AppRules.keyPath(file.text, folder: file.folder, variable: variable))
    } catch {
      add(.error, .keyFile, error, &findings)
      return nil
    }
  }

  /// What works, or may work, but is probably not meant.
  private func warn(
    teamID: String, keyID: String, key: Configuration.KeyLocation, _ findings: inout [ConfigurationFinding]
  ) {
    guard case .file(let path) = key else { return }
    // Apple names the file AuthKey_<key ID>.p8.
    let name = Files.name(of: path)
    if name.hasPrefix("AuthKey_"), name.hasSuffix(".p8") {
      let named = String(name.dropFirst("AuthKey_".count).dropLast(".p8".count))
      if named == teamID {
        let fault = SettingFault(
          "and key_id look swapped: the key's file is \(name)", remedy: "write team_id \(keyID) and key_id \(teamID)")
        add(.warning, .teamID, fault, &findings)
      } else if named.count == 10, named != keyID {
        let fault = SettingFault(
          "is \(keyID), but the key's file is \(name)",
          remedy: "check which key this is; Apple names its file by the key ID")
        add(.warning, .keyID, fault, &findings)
      }
    }
    // The file was found readable a moment ago; should it be gone by now, loading it says so.
    if let status = try? Files.status(of: path), status.isOpenToOthers {
      let mode = String(status.mode, radix: 8)
      let fault = SettingFault(
        "'\(path)' may be read or changed by others (mode 0\(mode))", remedy: "chmod 600 '\(path)'")
      add(.warning, .keyFile, fault, &findings)
    }
  }

  private func add(
    _ severity: ConfigurationFinding.Severity, _ field: AppField, _ fault: SettingFault,
    _ findings: inout [ConfigurationFinding]
  ) {
    let source = fields[field]?.source ?? source
    findings.append(
      ConfigurationFinding(
        severity, from: source, setting: name.isEmpty ? "--\(field.flag)" : "\(name).\(field.rawValue)", fault))
  }

  private func addMissing(_ field: AppField, remedy: String, _ findings: inout [ConfigurationFinding]) {
    guard !faulty.contains(field) else { return }
    add(.error, field, SettingFault("is missing", remedy: remedy), &findings)
  }
}
