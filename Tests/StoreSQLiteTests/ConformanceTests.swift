import PushCore
import StoreSQLite
import Support
import Testing

/// The SQLite store shows every behavior that a store must show.
@Suite struct ConformanceTests {
  @Test("The store conforms", .timeLimit(.minutes(1)), arguments: StoreBehavior.all)
  func conforms(_ behavior: StoreBehavior) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let clocks = DrivenClocks()
      let store = try await SQLiteStore.open(path, clocks: clocks)
      let fixture = StoreFixture(
        store: store, clocks: clocks, openAnother: { try await SQLiteStore.open(path, clocks: clocks) })
      try await behavior.check(fixture)
      await store.close()
    }
  }
}
