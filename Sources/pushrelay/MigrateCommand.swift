import Composition
import Operations

/// `pushrelay migrate`: brings the store to the schema of this version.
enum MigrateCommand {
  static let command = Command(
    "migrate", "Brings the store to the schema of this version; creates it when there is none.", options: [.store],
    examples: ["pushrelay migrate"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console, usesKeys: false)
    let location = context.configuration.store
    let versions = try StoreFactory.migrate(location)
    if invocation.flag("json") {
      console.print { object in
        object.member("store", location.description)
        object.member("from", versions.from)
        object.member("to", versions.to)
      }
    } else {
      console.print(
        versions.from == versions.to
          ? "\(location) has schema \(versions.to) already" : "\(location): schema \(versions.from) → \(versions.to)")
    }
    return .success
  }
}
