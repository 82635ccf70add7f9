import APNs
import Composition
import JSON
import Operations
import PushCore

/// `pushrelay device list`: the registered devices, a line each.
enum DeviceListCommand {
  private static let pageSize = 1000

  static let command = Command(
    "list", "Lists devices; in JSON one object a line.",
    options: [
      .topic, .value("interest", "NAME", "only its subscribers"), .value("user", "ID", "only the user's devices"),
      .flag("retired", "only devices that APNs said are gone"), .json, .store,
    ],
    examples: ["pushrelay device list --interest auth-janedoe-at-pushercom"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console)
    var query = DeviceQuery()
    query.topic = invocation.value("topic")
    query.interest = invocation.value("interest")
    query.user = invocation.value("user")
    if invocation.flag("retired") { query.retired = true }
    return try await context.withStore { store in
      var after = DeviceID(0)
      while !console.outputEnded {
        let page = try await store.devices(query, after: after, limit: pageSize)
        for device in page { console.print(invocation.flag("json") ? json(device) : line(device)) }
        guard page.count == pageSize, let last = page.last else { break }
        after = last.id
      }
      return .success
    }
  }

  private static func line(_ device: Device) -> String {
    var parts = [device.token.text, device.topic, device.environment.name]
    if let user = device.user { parts.append("user=\(user)") }
    if !device.interests.isEmpty { parts.append("interests=\(device.interests.joined(separator: ","))") }
    if let language = device.language { parts.append("language=\(language)") }
    if let at = device.retiredAt {
      parts.append("retired=\(RFC3339.format(at))")
      if let reason = device.retiredReason { parts.append("reason=\(ReasonTable.text(of: reason, stored: nil) ?? "")") }
    }
    return parts.joined(separator: "  ")
  }

  private static func json(_ device: Device) -> String {
    var writer = JSONWriter()
    writer.object {
      $0.member("token", device.token.text)
      $0.member("topic", device.topic)
      $0.member("environment", device.environment.name)
      $0.member("user", device.user)
      $0.member("language", device.language)
      $0.member("interests", device.interests)
      $0.member("registered_at", RFC3339.format(device.registeredAt))
      $0.member("state", device.retiredAt == nil ? "active" : "retired")
      $0.member("retired_at", device.retiredAt.map(RFC3339.format))
      $0.member("retired_reason", device.retiredReason.flatMap { ReasonTable.text(of: $0, stored: nil) })
    }
    return writer.text
  }
}
