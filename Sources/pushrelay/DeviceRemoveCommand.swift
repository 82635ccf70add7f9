import Composition
import Operations
import PushCore

/// `pushrelay device remove`: forgets one device.
enum DeviceRemoveCommand {
  static let command = Command(
    "remove", "Removes a device and its subscriptions.",
    options: [
      .topic, .value("token", "HEX", "device token"),
      .choice("environment", ["production", "sandbox"], "only there (default: in both)"), .store,
    ],
    examples: ["pushrelay device remove --token 740f4707…bb78ad1b"]
  ) { invocation, console in
    guard let text = invocation.value("token") else { throw invocation.usageError("--token is missing") }
    let row = DeviceRow(
      token: text, topic: invocation.value("topic"), environment: nil, user: nil, interests: nil, language: nil)
    try row.check()
    let context = try CommandContext(invocation, console, usesKeys: false)
    let device = try row.registration(context.configuration)
    return try await context.withStore(creates: false) { store in
      let wasThere = try await store.removeDevice(
        topic: device.topic, environment: invocation.value("environment").flatMap(Environment.init(name:)),
        token: device.token)
      guard wasThere else {
        console.diagnose("no device \(device.token.shortened) is registered for \(device.topic)")
        return .badData
      }
      if invocation.flag("json") {
        console.print { object in
          object.member("result", "removed")
          object.member("token", device.token.text)
          object.member("topic", device.topic)
          object.member("environment", invocation.value("environment"))
        }
      } else {
        console.print("removed \(device.token.text) from \(device.topic)")
      }
      return .success
    }
  }
}
