import Operations
import PushCore
import Support
import Testing

@testable import StoreSQLite

/// The wake-up between processes; two objects on one file are to it what two processes are.
@Suite(.timeLimit(.minutes(1))) struct BellTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.path(of: "relay.db-bell")
  }

  /// Listens on a thread of its own.
  private func listener() throws -> (bell: Bell, heard: Watched<[Lane]>, ended: Signal) {
    let bell = try Bell(path: path)
    let heard = Watched<[Lane]>([])
    let ended = Signal()
    try Threads.start("test-bell") {
      bell.listen { lane in heard.update { $0.append(lane) } }
      ended.fire()
    }
    return (bell, heard, ended)
  }

  @Test("A ring is heard by every listener, with its lanes")
  func rings() async throws {
    let (first, second) = (try listener(), try listener())
    let ringer = try Bell(path: path)

    // Rings before a listener began are none of its business: ring until both have heard.
    try await eventually("the first ring") {
      ringer.ring([.urgent])
      return first.heard.current.contains(.urgent) && second.heard.current.contains(.urgent)
    }
    ringer.ring([.bulk])
    for listener in [first, second] {
      _ = try await listener.heard.wait("the lane bulk") { $0.contains(.bulk) }
      #expect(!listener.heard.current.contains(.normal))
      listener.bell.stop()
      await listener.ended.wait()
    }
  }

  @Test("Nobody hears his own rings")
  func ownRings() async throws {
    let listener = try listener()
    let ringer = try Bell(path: path)
    try await eventually("the first ring") {
      ringer.ring([.normal])
      return listener.heard.current.contains(.normal)
    }
    for _ in 0..<1000 { listener.bell.ring([.urgent]) }
    ringer.ring([.bulk])
    _ = try await listener.heard.wait("the lane bulk") { $0.contains(.bulk) }

    // Between counting a ring as its own and ringing, a listener may look and hear it once or twice.
    #expect(listener.heard.current.filter { $0 == .urgent }.count < 100)
    listener.bell.stop()
    await listener.ended.wait()
  }

  @Test("A stopped bell stays stopped, and the rings of others go on")
  func stopping() async throws {
    let listener = try listener()
    listener.bell.stop()
    await listener.ended.wait()
    listener.bell.listen { _ in Issue.record("heard after the stop") }
    let other = try self.listener()
    try await eventually("a ring after the stop") {
      listener.bell.ring([.normal])
      return !other.heard.current.isEmpty
    }
    other.bell.stop()
    await other.ended.wait()
  }
}
