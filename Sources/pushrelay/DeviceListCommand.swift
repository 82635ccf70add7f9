import Composition
import Operations
import PushCore

/// `pushrelay device list`: the registered devices, a line each.
enum DeviceListCommand {
  private static let pageSize = 1000

  static let command = Command(
    "list", "Lists devices; in JSON one object a line.",
    options: [
      .topic, .value("interest", "NAME", "only its subscribers"), .value("user", "ID", "only the user's devices"),
      .flag("retired", "only devices that APNs said are gone"), .store,
    ],
    examples: ["pushrelay device list --interest auth-janedoe-at-pushercom"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console, usesKeys: false)
    var query = DeviceQuery()
    query.topic = invocation.value("topic")
    query.interest = invocation.value("interest")
    query.user = invocation.value("user")
    if invocation.flag("retired") { query.retired = true }
    return try await context.withStore(creates: false) { store in
      var after = DeviceID(0)
      while !console.outputEnded {
        let page = try await store.devices(query, after: after, limit: pageSize)
        for device in page {
          if invocation.flag("json") { console.print(object: device.write) } else { console.print(device.line) }
        }
        guard page.count == pageSize, let last = page.last else { break }
        after = last.id
      }
      return .success
    }
  }
}
