import Composition
import Operations
import PushCore

/// What `send` and `enqueue` start from: settings, app, and the notification that the options make, checked. All that is wrong with a call
/// is found together.
struct PushCall {
  let context: CommandContext
  let app: Configuration.App?
  var publication: Publication

  /// - Parameters:
  ///   - usesKeys: whether the command signs.
  ///   - needsApp: whether what signs must be known; else the topic alone will do.
  ///   - complete: adds what only this command has options for.
  init(
    _ invocation: Invocation, _ console: Console, usesKeys: Bool, needsApp: Bool,
    complete: (inout NotificationRequest, inout CallFaults) -> Void
  ) throws {
    var faults = CallFaults()
    var request = NotificationRequest(invocation, &faults)
    complete(&request, &faults)
    let inputs = faults.errors.count
    let context = CommandContext(invocation, console, usesKeys: usesKeys, &faults)
    let isConfigured = faults.errors.count == inputs
    // Without settings that can be trusted nothing is said of apps.
    let mayLackApp = !isConfigured || !needsApp && context.configuration.apps.isEmpty && request.topic != nil
    let app = mayLackApp ? nil : faults.collect { try context.app() }
    let checked = Self.check(request, app: app, invocation, context, &faults)
    try faults.check()
    guard let checked else { throw faults }
    self.context = context
    self.app = app
    publication = checked
  }

  /// The checked notification; what is legal and yet probably not meant is said on standard error.
  private static func check(
    _ request: NotificationRequest, app: Configuration.App?, _ invocation: Invocation, _ context: CommandContext,
    _ faults: inout CallFaults
  ) -> Publication? {
    let defaults = NotificationDefaults(
      topic: app?.topic, environment: app.map { Environment($0.environment) } ?? .production,
      reachesUnverifiedUsers: context.configuration.users.allowUnverified)
    do throws(NotificationFaults) {
      let (publication, warnings) = try request.publication(now: context.clocks.wallTime(), defaults: defaults)
      for warning in warnings { context.console.diagnose("warning: \(warning.named(by: invocation))") }
      return publication
    } catch {
      // What was said already: nobody, nothing, or no app was named.
      let isSaid: [String: Bool] = [
        "target": request.hasNoTarget, "payload": request.payload == nil, "topic": request.topic == nil && app == nil,
      ]
      let findings = error.findings.filter { isSaid[$0.path] != true }
      if !findings.isEmpty { faults.add(NotificationFaults(findings).named(by: invocation)) }
      return nil
    }
  }
}

extension NotificationFaults {
  /// The same, each under the option that its user gave.
  func named(by invocation: Invocation) -> NotificationFaults {
    NotificationFaults(findings.map { $0.named(by: invocation) })
  }
}

extension NotificationFinding {
  /// The members of a request whose options have another name.
  private static let options = ["tokens": "token", "interests": "interest", "users": "user"]

  /// The same under the option that its user gave, `--token no. 2`; under its own path when no option stands for it.
  func named(by invocation: Invocation) -> NotificationFinding {
    let member = path.hasPrefix("target.") ? path.dropFirst("target.".count) : path[...]
    let base = String(member.prefix { $0 != "[" && $0 != "." })
    let option = Self.options[base] ?? base.split(separator: "_").joined(separator: "-")
    // The payload may have been made from many options.
    guard invocation.takes(option), option != "payload" || invocation.isGiven(option) else { return self }
    let rest = member.dropFirst(base.count)
    var name = "--\(option)"
    if rest.hasPrefix("["), let index = Int(rest.dropFirst().prefix { $0 != "]" }) {
      if invocation.values(option).count > 1 { name += " no. \(index + 1)" }
    } else {
      name += rest.isEmpty ? "" : " (\(rest.dropFirst()))"
    }
    return NotificationFinding(name, detail)
  }
}
