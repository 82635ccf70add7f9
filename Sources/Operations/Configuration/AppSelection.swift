/// The options of a command that choose an app, or say everything about one that is in no config file.
public struct AppSelection: Sendable {
  private var given: [AppField: String]

  /// What was given; the paths as seen from the working directory.
  public init(
    topic: String? = nil, environment: String? = nil, teamID: String? = nil, keyID: String? = nil,
    keyFile: String? = nil, certificateFile: String? = nil
  ) {
    given = [:]
    given[.topic] = topic
    given[.environment] = environment
    given[.teamID] = teamID
    given[.keyID] = keyID
    given[.keyFile] = keyFile
    given[.certificateFile] = certificateFile
  }

  /// What a command that has these options was given.
  public init(_ invocation: Invocation) {
    given = [:]
    for field in AppField.allCases where invocation.takes(field.flag) {
      given[field] = invocation.value(field.flag)
    }
  }

  fileprivate var topic: String? { given[.topic] }

  /// The environment that is given; the command's table takes no other word.
  fileprivate var environment: Configuration.Environment? {
    given[.environment].flatMap(Configuration.Environment.init)
  }

  /// Whether anything about a credential is given.
  fileprivate var saysCredential: Bool { saysKey || saysCertificate }
  fileprivate var saysKey: Bool { AppField.ofKey.contains { given[$0] != nil } }
  fileprivate var saysCertificate: Bool { AppField.ofCertificate.contains { given[$0] != nil } }

  fileprivate var fields: [AppField: AppDraft.Field] {
    var fields: [AppField: AppDraft.Field] = [:]
    for (field, text) in given { fields[field] = AppDraft.Field(text: text, source: .flag(field.flag)) }
    return fields
  }
}

/// An app that options choose or make, with what is doubtful about it.
public struct SelectedApp: Sendable {
  /// The app.
  public let app: Configuration.App
  /// What is doubtful about it.
  public let warnings: [ConfigurationFinding]
}

extension Configuration {
  /// The app for options: the configured one of that topic (or the only one) with what the options say put over it.
  ///
  /// A topic that extends a configured one, such as its `.voip`, gives that app with its own topic.
  /// - Throws: ``ConfigurationError``: 78 when nothing tells the credential, 64 when several apps are possible.
  public func app(
    for selection: AppSelection, environment variables: ProcessEnvironment, usesKeys: Bool = true
  ) throws(ConfigurationError) -> SelectedApp {
    let base = try baseApp(for: selection)
    // What the settings say was checked, and warned of, when they were read.
    if let base, !selection.saysCredential { return SelectedApp(app: base.with(selection.environment), warnings: []) }
    var draft = AppDraft(name: "", source: .standard)
    if let base { draft.fields = base.fields }
    // Options of one kind of credential displace the other kind of the file.
    if selection.saysKey { for field in AppField.ofCertificate { draft.fields[field] = nil } }
    if selection.saysCertificate { for field in AppField.ofKey { draft.fields[field] = nil } }
    let kept = draft.fields[.topic]
    draft.fields.merge(selection.fields) { $1 }
    if let kept { draft.fields[.topic] = kept }
    var findings: [ConfigurationFinding] = []
    let app = draft.app(variables, usesKeys: usesKeys, &findings)
    guard let app else { throw ConfigurationError(findings.filter { $0.severity == .error }) }
    return SelectedApp(app: app, warnings: findings)
  }

  private func baseApp(for selection: AppSelection) throws(ConfigurationError) -> App? {
    if let topic = selection.topic.map(AppRules.trimmed) {
      if let app = app(for: topic) { return app }
      guard apps.isEmpty || selection.saysCredential else { throw unknownTopic(topic) }
      return nil
    }
    if apps.isEmpty, selection.saysCredential { return nil }
    return try onlyApp
  }
}

extension Configuration {
  /// The app when nothing chooses one.
  /// - Throws: ``ConfigurationError``: 64 when there are several, 78 when there is none.
  public var onlyApp: App {
    get throws(ConfigurationError) {
      if let app = apps.first, apps.count == 1 { return app }
      throw ConfigurationError([
        apps.isEmpty
          ? ConfigurationFinding(
            .error, "no app is configured",
            remedy:
              "name one with --topic (to sign, with --team-id, --key-id and --key too), or in a config file (\(file ?? "none was found"))"
          )
          : ConfigurationFinding(
            .error, "several apps are configured",
            remedy: "choose one with --topic: \(apps.map(\.topic).joined(separator: ", "))", exitCode: .usage)
      ])
    }
  }

  /// The error, 78, for a topic that no configured app has.
  public func unknownTopic(_ topic: String) -> ConfigurationError {
    ConfigurationError([
      ConfigurationFinding(
        .error, "no app has the topic \(shown(topic))",
        remedy: apps.isEmpty
          ? "none is configured; write it into the config file"
          : "configured are \(apps.map(\.topic).joined(separator: ", "))")
    ])
  }
}

extension Configuration.App {
  /// The app with another environment, if one is given.
  fileprivate func with(_ environment: Configuration.Environment?) -> Configuration.App {
    Configuration.App(topic: topic, environment: environment ?? self.environment, credential: credential)
  }

  fileprivate var fields: [AppField: AppDraft.Field] {
    func field(_ text: String) -> AppDraft.Field { AppDraft.Field(text: text, source: .standard) }
    var fields: [AppField: AppDraft.Field] = [.topic: field(topic), .environment: field(environment.rawValue)]
    switch credential {
    case .key(let teamID, let keyID, let location):
      fields[.teamID] = field(teamID)
      fields[.keyID] = field(keyID)
      if case .file(let path) = location { fields[.keyFile] = field(path) }
    case .certificate(let path, _, let variable):
      fields[.certificateFile] = field(path)
      fields[.certificatePasswordVariable] = variable.map(field)
    }
    return fields
  }
}
