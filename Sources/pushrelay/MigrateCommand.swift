import Composition
import Operations

/// `pushrelay migrate`: brings the store to the schema of this version.
enum MigrateCommand {
  static let command = Command(
    "migrate", "Brings the store to the schema of this version; creates it when there is none.", options: [.store],
    examples: ["pushrelay migrate"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console)
    let versions = try StoreFactory.migrate(context.configuration.store)
    console.print(
      versions.from == versions.to
        ? "\(context.configuration.store) has schema \(versions.to) already"
        : "\(context.configuration.store): schema \(versions.from) → \(versions.to)")
    return .success
  }
}
