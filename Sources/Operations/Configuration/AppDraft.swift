/// The fields of an app, in the file and on the command line.
enum AppField: String, CaseIterable {
  case topic
  case environment
  case teamID = "team_id"
  case keyID = "key_id"
  case keyFile = "key_file"
  case certificateFile = "certificate_file"
  case certificatePasswordVariable = "certificate_password_variable"

  /// The fields of a key.
  static let ofKey: [AppField] = [.teamID, .keyID, .keyFile]
  /// The fields of a certificate.
  static let ofCertificate: [AppField] = [.certificateFile, .certificatePasswordVariable]

  /// The option that gives it on a command line.
  var flag: String {
    switch self {
    case .topic: "topic"
    case .environment: "environment"
    case .teamID: "team-id"
    case .keyID: "key-id"
    case .keyFile: "key"
    case .certificateFile: "certificate"
    case .certificatePasswordVariable: "certificate-password-variable"
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
    let credential =
      AppField.ofCertificate.contains { fields[$0] != nil || faulty.contains($0) }
      ? certificate(variables, usesKeys: usesKeys, &findings) : key(variables, usesKeys: usesKeys, &findings)
    guard faulty.isEmpty, let topic, let environment, let credential else { return nil }
    return Configuration.App(topic: topic, environment: environment, credential: credential)
  }

  private func key(
    _ variables: ProcessEnvironment, usesKeys: Bool, _ findings: inout [ConfigurationFinding]
  ) -> Configuration.Credential? {
    let teamID = checked(.teamID, &findings, AppRules.identifier)
    let keyID = checked(.keyID, &findings, AppRules.identifier)
    let key = usesKeys ? keyLocation(keyID, variables, &findings) : nil
    guard let teamID, let keyID, key != nil || !usesKeys else { return nil }
    if let key { warn(teamID: teamID, keyID: keyID, key: key, &findings) }
    return .key(teamID: teamID, keyID: keyID, key)
  }

  private func certificate(
    _ variables: ProcessEnvironment, usesKeys: Bool, _ findings: inout [ConfigurationFinding]
  ) -> Configuration.Credential? {
    if let other = AppField.ofKey.first(where: { fields[$0] != nil }) {
      let fault = SettingFault(
        "stands beside a certificate", remedy: "an app has either team_id, key_id and key_file, or certificate_file")
      add(.error, other, fault, &findings)
      return nil
    }
    guard let file = fields[.certificateFile] else {
      addMissing(.certificateFile, remedy: "name the PEM or .p12 file", &findings)
      return nil
    }
    let path = Files.resolve(file.text, in: file.folder)
    guard usesKeys else { return .certificate(path: path, password: nil, variable: nil) }
    do {
      try checkReadable(path, seenFrom: file.folder)
    } catch {
      add(.error, .certificateFile, error, &findings)
      return nil
    }
    warnIfOpen(path, .certificateFile, &findings)
    guard let variable = fields[.certificatePasswordVariable]?.text else {
      return .certificate(path: path, password: nil, variable: nil)
    }
    guard let password = variables[variable] else {
      // What is written there by mistake may be the password itself.
      let fault = SettingFault(
        "names no variable that is set", remedy: "set the variable, and write its name here, never the password")
      add(.error, .certificatePasswordVariable, fault, &findings)
      return nil
    }
    return .certificate(path: path, password: SecretText(password), variable: variable)
  }

  private func checked<Value>(
    _ field: AppField, _ findings: inout [ConfigurationFinding], _ rule: (String) throws(SettingFault) -> Value
  ) -> Value? {
    guard let given = fields[field] else {
      let needed =
        name.isEmpty
        ? "give --topic, --team-id, --key-id and --key (or --certificate), or a config file"
        : "an app needs topic, team_id, key_id and key_file, or topic and certificate_file"
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
    warnIfOpen(path, .keyFile, &findings)
  }

  private func warnIfOpen(_ path: String, _ field: AppField, _ findings: inout [ConfigurationFinding]) {
    // The file was found readable a moment ago; should it be gone by now, loading it says so.
    if let status = try? Files.status(of: path), status.isOpenToOthers {
      let mode = String(status.mode, radix: 8)
      let fault = SettingFault(
        "'\(path)' may be read or changed by others (mode 0\(mode))", remedy: "chmod 600 '\(path)'")
      add(.warning, field, fault, &findings)
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
