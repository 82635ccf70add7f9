import Composition
import Operations

/// `pushrelay migrate`: brings the store to the schema of this version, or another store into it.
enum MigrateCommand {
  static let command = Command(
    "migrate", "Brings the store to the schema of this version; creates it when there is none.",
    options: [
      .value("from", "URL", "moves everything from this store, sqlite:PATH, into the configured one, postgresql://…"),
      .store,
    ],
    examples: ["pushrelay migrate", "pushrelay migrate --from sqlite:/var/lib/pushrelay/pushrelay.db"]
  ) { invocation, console in
    let context = try CommandContext(invocation, console, usesKeys: false)
    let location = context.configuration.store
    if let source = try source(invocation) {
      try move(from: source, to: location, context)
      return .success
    }
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

  private static func source(_ invocation: Invocation) throws -> StoreLocation? {
    guard let text = invocation.value("from") else { return nil }
    do {
      return try StoreLocation.parse(text, folder: "")
    } catch {
      throw invocation.usageError("--from \(error.message): \(error.remedy)")
    }
  }

  private static func move(
    from source: StoreLocation, to destination: StoreLocation, _ context: CommandContext
  ) throws {
    let arrived = try StoreFactory.move(from: source, to: destination, clocks: context.clocks)
    if context.invocation.flag("json") {
      context.console.print { object in
        object.member("store", destination.description)
        object.member("moved_from", source.description)
        for table in arrived { object.member(table.table, table.count) }
      }
    } else {
      for table in arrived where table.count > 0 { context.console.print("\(table.table)  \(table.count)") }
      context.console.print("everything of \(source) is in \(destination); the old store takes no more writes")
    }
  }
}
