import Operations
import PushCore
import StoreSQLite

/// Chooses the store by the setting alone.
public enum StoreFactory {
  /// Opens it.
  ///
  /// - Parameter creates: whether a store that is not there is created; else that is an error.
  public static func open(
    _ location: StoreLocation, clocks: any Clocks, logger: Logger? = nil, creates: Bool = true
  ) async throws(StoreError) -> any Store {
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
    }
  }

  /// Brings the store to the schema of this version; says from which version to which.
  public static func migrate(_ location: StoreLocation) throws(StoreError) -> (from: Int, to: Int) {
    switch location {
    case .sqlite(let path): try SQLiteStore.migrate(path: path)
    }
  }
}
