import APNs
import Composition
import JSON
import Operations
import PushCore

/// `pushrelay check`: whether the relay could start, and with which settings.
enum CheckCommand {
  static let command = Command(
    "check", "Checks settings, keys and store, and prints the settings in force; says what to do about what is wrong.",
    options: [.store], examples: ["pushrelay check"]
  ) { invocation, console in
    let report = ConfigurationLoader(invocation, environment: ProcessEnvironment.current()).load()
    let (certificates, keyFindings) = keys(report.configuration)
    var findings = report.findings + keyFindings
    findings += report.configuration.apns.proxyFindings
    findings += report.configuration.authorityFindings
    findings += report.configuration.listeners.flatMap { $0.tls?.findings ?? [] }
    // Apps that were given and are wrong have been reported.
    if report.errors.isEmpty, report.configuration.apps.isEmpty {
      findings.append(
        ConfigurationFinding(
          .error, "no app is configured",
          remedy: report.configuration.file == nil
            ? "write pushrelay.json, or name another file with --config" : "add one to \"apps\""))
    }
    findings += await storeFindings(report.configuration)
    let settings = EffectiveSettings(report.configuration)
    console.print(
      invocation.flag("json") ? json(findings, certificates, settings) : text(findings, certificates, settings))
    return findings.contains { $0.severity == .error } ? .configuration : .success
  }

  /// The certificates that could be loaded, and what is wrong with keys and certificates.
  private static func keys(_ configuration: Configuration) -> ([KeyRing.Certificate], [ConfigurationFinding]) {
    var certificates: [KeyRing.Certificate] = []
    var findings: [ConfigurationFinding] = []
    for (index, app) in configuration.apps.enumerated() {
      do throws(ConfigurationError) {
        let keys = try KeyRing([app])
        certificates += keys.certificates
        findings += keys.warnings.map { named($0, app, index, configuration) }
      } catch {
        findings += error.findings.map { named($0, app, index, configuration) }
      }
    }
    return (certificates, findings)
  }

  /// The finding under the setting that names its file.
  private static func named(
    _ finding: ConfigurationFinding, _ app: Configuration.App, _ index: Int, _ configuration: Configuration
  ) -> ConfigurationFinding {
    let field =
      switch app.credential {
      case .key(_, _, .file): "key_file"
      case .certificate: "certificate_file"
      case .key: ""
      }
    if field.isEmpty { return finding }
    let setting = "apps[\(index)].\(field)"
    return ConfigurationFinding(
      finding.severity, place: configuration.source(of: setting).description, setting: setting,
      "names '\(finding.place)': \(finding.message)", remedy: finding.remedy)
  }

  /// Whether the store opens, and which apps are paused.
  private static func storeFindings(_ configuration: Configuration) async -> [ConfigurationFinding] {
    let place = configuration.source(of: "store").description
    guard await StoreFactory.exists(configuration.store) else {
      if let fault = StoreFactory.creationFault(configuration.store) {
        return [
          ConfigurationFinding(
            .error, place: place, setting: "store",
            "is \(configuration.store), which is not there and cannot be made: \(fault)",
            remedy: "make the folder for the user that runs the relay, or name another place")
        ]
      }
      return [
        ConfigurationFinding(
          .note, place: place, setting: "store", "is \(configuration.store), which is not there yet: it will be created"
        )
      ]
    }
    do {
      let store = try await StoreFactory.open(configuration.store, clocks: SystemClocks(), creates: false)
      let held = try await store.credentials().filter { $0.heldSince != nil }
      await store.close()
      try StoreFactory.checkIsInService(configuration.store)
      let missing = try StoreFactory.missingRoles(configuration.store)
      let roles =
        missing.isEmpty
        ? []
        : [
          ConfigurationFinding(
            .note, place: place, setting: "store",
            "has no roles for backends that enqueue by SQL, since the relay's role may make none",
            remedy:
              "if they are wanted, as an administrator and as the schema's owner: \(missing.joined(separator: "; "))")
        ]
      return roles
        + held.map { credential in
          let advice = credential.heldReason.flatMap(ReasonTable.id).flatMap(ReasonTable.remedy) ?? ""
          return ConfigurationFinding(
            .warning, place: "\(credential.topic) (\(credential.environment.name))",
            "the app is paused since \(credential.heldSince.map(RFC3339.format) ?? ""): \(credential.heldReason ?? "")",
            remedy: advice + (advice.isEmpty ? "" : " ") + "Then run pushrelay app resume --topic \(credential.topic)")
        }
    } catch {
      return [
        ConfigurationFinding(
          .error, place: place, setting: "store", "cannot be used: \(error.operation): \(error.underlying)",
          remedy: error.remedy)
      ]
    }
  }

  private static func text(
    _ findings: [ConfigurationFinding], _ certificates: [KeyRing.Certificate], _ settings: EffectiveSettings
  ) -> String {
    let errors = findings.count { $0.severity == .error }
    let warnings = findings.count { $0.severity == .warning }
    let verdict =
      switch (errors, warnings) {
      case (0, 0): "all is well"
      case (0, _): "the relay would start; \(warnings) \(warnings == 1 ? "warning" : "warnings")"
      case (1, _): "1 thing is wrong; the relay would not start"
      default: "\(errors) things are wrong; the relay would not start"
      }
    let lines = certificates.map { certificate in
      let expiry = RFC3339.format(certificate.expiry)
      return "certificate of \(certificate.topic): \(certificate.subject), expires \(expiry)"
    }
    return (findings.map(\.description) + [verdict] + lines + ["", settings.text]).joined(separator: "\n")
  }

  private static func json(
    _ findings: [ConfigurationFinding], _ certificates: [KeyRing.Certificate], _ settings: EffectiveSettings
  ) -> String {
    var writer = JSONWriter()
    writer.object {
      $0.member("ok", !findings.contains { $0.severity == .error })
      $0.name("findings")
      $0.array { array in
        for finding in findings {
          array.object {
            $0.member("severity", finding.severity.rawValue)
            $0.member("place", finding.place)
            $0.member("setting", finding.setting)
            $0.member("message", finding.message)
            $0.member("remedy", finding.remedy)
          }
        }
      }
      $0.name("certificates")
      $0.array { array in
        for certificate in certificates {
          array.object {
            $0.member("topic", certificate.topic)
            $0.member("subject", certificate.subject)
            $0.member("topics", certificate.topics)
            $0.member("expires_at", RFC3339.format(certificate.expiry))
          }
        }
      }
      $0.name("settings")
      settings.write(to: &$0)
    }
    return writer.text
  }
}
