import Operations
import PushCore
import StorePostgreSQL
import StoreSQLite

/// Chooses the store by the setting alone.
public enum StoreFactory {
  /// Opens it and brings it to the schema of this version.
  ///
  /// - Parameter creates: whether it is made when there is none.
  public static func open(
    _ location: StoreLocation, clocks: any Clocks, logger: Logger? = nil, creates: Bool = true
  ) async throws(StoreError) -> any FullStore {
    switch location {
    case .sqlite(let path):
      var options = SQLiteStore.Options()
      options.creates = creates
      options.onEvent = { event in
        switch event {
        case .logTooLarge(let bytes):
          logger?.error(
            "the store's write-ahead log grows without end: a process reads from the file for too long",
            ["store.path": .string(path), "store.log_bytes": .count(bytes)])
        case .checkpointFailed(let error):
          logger?.error("the store's write-ahead log cannot be copied", ["error": .describing(error)])
        }
      }
      return try await SQLiteStore.open(path, options: options, clocks: clocks)
    case .postgresql(let database):
      var options = PostgreSQLStore.Options()
      options.creates = creates
      // Its clock is the database's, since many machines share it.
      return try await PostgreSQLStore.open(database, options: options)
    }
  }

  /// Whether there is one; where that cannot be found out, opening says why.
  public static func exists(_ location: StoreLocation) async -> Bool {
    switch location {
    // Any failure to look means that there is none to read from.
    case .sqlite(let path): (try? Files.status(of: path)) != nil
    case .postgresql(let database): (try? PostgreSQLStore.isMigrated(database)) ?? true
    }
  }

  /// Why one cannot be made where there is none; nil when it can.
  public static func creationFault(_ location: StoreLocation) -> String? {
    switch location {
    case .sqlite(let path):
      let folder = Files.folder(of: path).isEmpty ? "." : Files.folder(of: path)
      do {
        let status = try Files.status(of: folder)
        guard status.isDirectory else { return "'\(folder)' is no folder" }
        return status.isWritable ? nil : "this user may not make files in '\(folder)'"
      } catch {
        return error.description
      }
    case .postgresql: return nil
    }
  }

  /// Refuses a store that was moved elsewhere; what only reads may open it all the same.
  public static func checkIsInService(_ location: StoreLocation) throws(StoreError) {
    if case .sqlite(let path) = location { try SQLiteStore.checkIsInService(path: path) }
  }

  /// What an administrator and the schema's owner must run before backends can be granted the store's SQL; empty when nothing.
  public static func missingRoles(_ location: StoreLocation) throws(StoreError) -> [String] {
    switch location {
    case .sqlite: []
    case .postgresql(let database): try PostgreSQLStore.missingRoles(database)
    }
  }

  /// Moves the store of another place into this one; see ``StoreMove``.
  ///
  /// - Throws: ``ConfigurationError`` when the two are no SQLite file and PostgreSQL database, or ``StoreError``.
  public static func move(
    from source: StoreLocation, to destination: StoreLocation, clocks: any Clocks
  ) throws -> [StoreMove.Arrived] {
    guard case .sqlite(let path) = source, case .postgresql(let database) = destination else {
      throw ConfigurationError([
        ConfigurationFinding(
          .error, "a store moves from sqlite:PATH to postgresql://… only, not from \(source) to \(destination)",
          remedy: "give --from sqlite:PATH, and name the PostgreSQL database in the setting store or in --store")
      ])
    }
    return try StoreMove.run(from: path, to: database, clocks: clocks)
  }

  /// Brings the store to the schema of this version; says from which version to which.
  public static func migrate(_ location: StoreLocation) throws(StoreError) -> (from: Int, to: Int) {
    switch location {
    case .sqlite(let path): try SQLiteStore.migrate(path: path)
    case .postgresql(let database): try PostgreSQLStore.migrate(database)
    }
  }
}
