import Composition
import Operations
import PushCore

/// `pushrelay device add`: registers or refreshes one device.
enum DeviceAddCommand {
  static let command = Command(
    "add", "Registers a device, or refreshes it: what is not given stays as it is.",
    options: [
      .topic, .value("token", "HEX", "device token, as the app prints it"), .environment,
      .value("user", "ID", "the user behind it; another user than before clears interests that are not given"),
      .value("interest", "NAME", "subscribes it; all given replace its present interests", repeatable: true),
      .value("language", "TAG", "the language its app speaks, such as de-AT"), .store,
    ],
    examples: ["pushrelay device add --token 740f4707…bb78ad1b --interest auth-janedoe-at-pushercom"]
  ) { invocation, console in
    guard let text = invocation.value("token") else { throw invocation.usageError("--token is missing") }
    let row = DeviceRow(
      token: text, topic: invocation.value("topic"), environment: invocation.value("environment"),
      user: invocation.value("user"),
      interests: invocation.values("interest").isEmpty ? nil : invocation.values("interest"),
      language: invocation.value("language"))
    try row.check()
    let context = try CommandContext(invocation, console, usesKeys: false)
    let registration = try row.registration(context.configuration)
    return try await context.withStore(creates: true) { store in
      try await context.bind(store, topics: [registration.topic])
      let results = try await store.register([registration])
      let word = if case .added = results.first { "registered" } else { "refreshed" }
      if invocation.flag("json") {
        var query = DeviceQuery()
        query.topic = registration.topic
        query.token = registration.token
        let device = try await store.devices(query, after: DeviceID(0), limit: 2).first {
          $0.environment == registration.environment
        }
        console.print { object in
          object.member("result", word)
          device?.write(to: &object)
        }
      } else {
        console.print("\(word) \(registration.token.text) for \(registration.topic) (\(registration.environment.name))")
      }
      return .success
    }
  }
}
