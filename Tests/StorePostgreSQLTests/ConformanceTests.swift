import PushCore
import StorePostgreSQL
import Support
import Testing

/// The PostgreSQL store shows every behavior that a store must show.
///
/// One after the other: a hundred new databases at once would starve the tests beside these that watch the time.
@Suite(
  .enabled(if: PostgreSQLServer.absence == nil, "PostgreSQL's server is not installed"), .serialized)
struct ConformanceTests {
  @Test("The store conforms", .timeLimit(.minutes(2)), arguments: StoreBehavior.all)
  func conforms(_ behavior: StoreBehavior) async throws {
    try await Database.with { location, _ in
      let clocks = DrivenClocks()
      let store = try await PostgreSQLStore.open(location, clocks: clocks)
      let fixture = StoreFixture(
        store: store, clocks: clocks, openAnother: { try await PostgreSQLStore.open(location, clocks: clocks) })
      try await behavior.check(fixture)
      await store.close()
    }
  }
}
