import Composition
import JSON
import Operations
import PushCore

/// `pushrelay check`: whether the relay could start, and with which settings.
enum CheckCommand {
  static let command = Command(
    "check", "Checks settings, keys and store, and prints the settings in force; says what to do about what is wrong.",
    options: [.json, .store], examples: ["pushrelay check"]
  ) { invocation, console in
    let report = ConfigurationLoader(invocation, environment: ProcessEnvironment.current()).load()
    var findings = report.findings + keyFindings(report.configuration)
    findings += report.configuration.apns.proxyFindings
    if report.configuration.apps.isEmpty {
      findings.append(
        ConfigurationFinding(
          .error, "no app is configured",
          remedy: report.configuration.file == nil
            ? "write pushrelay.json, or name another file with --config" : "add one to \"apps\""))
    }
    findings += await storeFindings(report.configuration)
    let settings = EffectiveSettings(report.configuration)
    console.print(invocation.flag("json") ? json(findings, settings) : text(findings, settings))
    return .combining(findings.filter { $0.severity == .error }.map(\.exitCode))
  }

  private static func keyFindings(_ configuration: Configuration) -> [ConfigurationFinding] {
    do {
      _ = try KeyRing(configuration.apps)
      return []
    } catch {
      return error.findings
    }
  }

  /// Whether the store opens, and which apps are paused.
  private static func storeFindings(_ configuration: Configuration) async -> [ConfigurationFinding] {
    do {
      let store = try await StoreFactory.open(configuration.store, clocks: SystemClocks())
      let held = try await store.credentials().filter { $0.heldSince != nil }
      await store.close()
      return held.map { credential in
        ConfigurationFinding(
          .warning, place: "\(credential.topic) (\(credential.environment.name))",
          "the app is paused since \(credential.heldSince.map(RFC3339.format) ?? ""): \(credential.heldReason ?? "")",
          remedy: "when the reason is mended, run pushrelay app resume --topic \(credential.topic)")
      }
    } catch {
      return [
        ConfigurationFinding(
          .error, place: "\(configuration.store)", "\(error.operation): \(error.underlying)", remedy: error.remedy,
          exitCode: error.exitCode)
      ]
    }
  }

  private static func text(_ findings: [ConfigurationFinding], _ settings: EffectiveSettings) -> String {
    let errors = findings.count { $0.severity == .error }
    let verdict =
      errors == 0 ? "all is well" : "\(errors) \(errors == 1 ? "thing is" : "things are") wrong; nothing would start"
    return (findings.map(\.description) + [verdict, "", settings.text]).joined(separator: "\n")
  }

  private static func json(_ findings: [ConfigurationFinding], _ settings: EffectiveSettings) -> String {
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
      $0.name("settings")
      settings.write(to: &$0)
    }
    return writer.text
  }
}
