import Foundation
import Operations
import PushCore
import Support
import Testing

@testable import StoreSQLite

/// Locks, full disks, crashes: nothing that was acknowledged is lost, and the caller is told what to do.
@Suite(.timeLimit(.minutes(2))) struct FaultTests {
  private static func publication(_ number: Int, payloadBytes: Int = 20) -> Publication {
    let text = String(number)
    let token = String(repeating: "0", count: 64 - text.count) + text
    return Publication(
      topic: AppBinding.example.topic, target: Target(tokens: [DeviceToken(stored: token)]),
      payload: Array(repeating: 0x61, count: payloadBytes),
      headers: PushHeaders(pushType: .alert, priority: .immediate), lane: .normal)
  }

  private static func publish(_ store: SQLiteStore, _ number: Int, payloadBytes: Int = 20) async throws
    -> NotificationID
  {
    let result = try await store.publish(publication(number, payloadBytes: payloadBytes))
    guard case .stored(let id, _) = result else { throw SupportError("publish answered \(result)") }
    return id
  }

  @Test("While another process holds the write lock, writes wait and reads answer")
  func foreignLock() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      var options = SQLiteStore.Options()
      options.busyTimeout = .seconds(60)
      let store = try await SQLiteStore.open(path, options: options)
      _ = try await store.bind([.example])
      let id = try await Self.publish(store, 1)
      let foreign = try Connection(path: path, busyTimeout: .seconds(1))
      try foreign.execute("BEGIN IMMEDIATE; UPDATE app SET created_at=1")

      let published = Watched(false)
      async let second = {
        let id = try await Self.publish(store, 2)
        published.update { $0 = true }
        return id
      }()
      for _ in 0..<200 {
        #expect(try await store.status(id)?.state == .queued)
        #expect(try await store.notification(id) != nil)
      }
      #expect(!published.current)
      try foreign.execute("COMMIT")

      #expect(try await store.status(try await second)?.state == .queued)
      await store.close()
    }
  }

  @Test("A file whose write lock another process holds opens at once, and can be read")
  func opensWhileLocked() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let first = try await SQLiteStore.open(path)
      _ = try await first.bind([.example])
      let id = try await Self.publish(first, 1)
      let foreign = try Connection(path: path, busyTimeout: .seconds(1))
      try foreign.execute("BEGIN IMMEDIATE")

      var options = SQLiteStore.Options()
      options.busyTimeout = .milliseconds(50)
      let second = try await SQLiteStore.open(path, options: options)
      #expect(try await second.status(id)?.state == .queued)
      try foreign.execute("COMMIT")
      await second.close()
      await first.close()
    }
  }

  @Test("A lock held beyond the patience makes writes fail for now, and stores nothing")
  func lockBeyondPatience() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      var options = SQLiteStore.Options()
      options.busyTimeout = .milliseconds(50)
      let store = try await SQLiteStore.open(path, options: options)
      _ = try await store.bind([.example])
      let foreign = try Connection(path: path, busyTimeout: .seconds(1))
      try foreign.execute("BEGIN IMMEDIATE")

      let error = await #expect(throws: StoreError.self) { _ = try await Self.publish(store, 1) }
      #expect(error?.code == .temporary && error?.isTransient == true)
      #expect(error?.operation.hasPrefix("publish, sqlite:") == true)
      try foreign.execute("COMMIT")
      _ = try await Self.publish(store, 2)
      #expect(try foreign.number("SELECT count(*) FROM notification") == 1)
      await store.close()
    }
  }

  @Test("A full disk fails publishes for now, loses nothing acknowledged, and leaves reads alone")
  func fullDisk() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      var options = SQLiteStore.Options()
      options.maximumBytes = 400_000
      let store = try await SQLiteStore.open(path, options: options)
      _ = try await store.bind([.example])

      let outcomes = await withTaskGroup(of: Result<NotificationID, any Error>.self) { group in
        for number in 0..<400 {
          group.addTask {
            do { return .success(try await Self.publish(store, number, payloadBytes: 3000)) } catch {
              return .failure(error)
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      var stored: Set<NotificationID> = []
      for outcome in outcomes {
        switch outcome {
        case .success(let id): stored.insert(id)
        case .failure(let error): #expect((error as? StoreError)?.code == .temporary)
        }
      }
      #expect(stored.count > 10 && stored.count < 300)
      for id in stored { #expect(try await store.status(id)?.state == .queued) }
      await store.close()

      let roomy = try await SQLiteStore.open(path)
      for id in stored { #expect(try await roomy.notification(id)?.payload?.count == 3000) }
      _ = try await Self.publish(roomy, 1000, payloadBytes: 3000)
      await roomy.close()
      let connection = try Connection(path: path, busyTimeout: .seconds(1))
      #expect(try connection.number("SELECT count(*) FROM notification") == Int64(stored.count + 1))
      #expect(try connection.number("SELECT count(*) FROM task") == Int64(stored.count + 1))
      #expect(try connection.number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'") == 0)
    }
  }

  @Test("A call that fails after it wrote takes nothing of the calls beside it along")
  func failureAfterWriting() async throws {
    try await withTemporaryDirectory { directory in
      let store = try await SQLiteStore.open(directory.path(of: "relay.db"))
      _ = try await store.bind([.example])
      let device = DeviceRegistration(
        topic: AppBinding.example.topic, environment: .production, token: DeviceToken(stored: "aa"))
      let unknown = DeviceRegistration(
        topic: "com.example.unknown", environment: .production, token: DeviceToken(stored: "aa"))

      let results = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<60 {
          group.addTask {
            do {
              if number.isMultiple(of: 3) {
                _ = try await store.register([device, unknown])
              } else {
                _ = try await Self.publish(store, number)
              }
              return true
            } catch {
              #expect((error as? StoreError)?.code == .unknownTopic)
              return false
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(results.filter { $0 }.count == 40)
      #expect(try await store.devices(DeviceQuery(), after: DeviceID(0), limit: 10).isEmpty)
      let credentials = try await store.credentials().map(\.id)
      let tasks = try await store.claim(
        ClaimRequest(lane: .normal, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 100))
      #expect(tasks.count == 40)
      await store.close()
    }
  }

  @Test("Two stores on one file take turns under load")
  func twoStores() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let stores = [try await SQLiteStore.open(path), try await SQLiteStore.open(path)]
      _ = try await stores[0].bind([.example])
      let credentials = try await stores[0].credentials().map(\.id)

      let claimed = try await withThrowingTaskGroup(of: Int.self) { group in
        for client in 0..<8 {
          group.addTask {
            for number in 0..<50 { _ = try await Self.publish(stores[client % 2], client * 100 + number) }
            return 0
          }
        }
        for (worker, store) in stores.enumerated() {
          group.addTask {
            var claimed = 0
            for _ in 0..<100 {
              let request = ClaimRequest(
                lane: .normal, owner: Int64(worker), lease: .seconds(15), window: nil, credentials: credentials,
                limit: 7)
              claimed += try await store.claim(request).count
            }
            return claimed
          }
        }
        return try await group.reduce(0, +)
      }
      let rest = try await stores[0].claim(
        ClaimRequest(lane: .normal, owner: 3, lease: .seconds(15), window: nil, credentials: credentials, limit: 999))
      #expect(claimed + rest.count == 400)
      for store in stores { await store.close() }
    }
  }

  @Test("The log is copied into the file while the store works")
  func checkpoints() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let store = try await SQLiteStore.open(path)
      _ = try await store.bind([.example])
      let file = URL(fileURLWithPath: path)
      func size() throws -> Int { try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0 }

      var number = 0
      let deadline = SystemClocks().monotonicTime() + .seconds(60)
      while try size() < 2_000_000, SystemClocks().monotonicTime() < deadline {
        for _ in 0..<50 {
          number += 1
          _ = try await Self.publish(store, number, payloadBytes: 4000)
        }
      }
      #expect(try size() >= 2_000_000)
      await store.close()
    }
  }

  @Test("A file that becomes read-only fails writes for now and loses nothing; opened again, all goes on")
  func readOnly() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let store = try await SQLiteStore.open(path)
      _ = try await store.bind([.example])
      let credentials = try await store.credentials().map(\.id)
      let request = ClaimRequest(
        lane: .normal, owner: 1, lease: .seconds(15), window: nil, credentials: credentials, limit: 10)
      let ids = [try await Self.publish(store, 1), try await Self.publish(store, 2)]
      let task = try #require(try await store.claim(request).first)
      try await store.write { (transaction) throws(StoreError) in
        try transaction.connection.execute("PRAGMA query_only=ON")
      }

      let lease = LeaseReference(task: task.id, epoch: task.epoch)
      let writes: [@Sendable () async throws -> Void] = [
        { _ = try await Self.publish(store, 3) },
        { _ = try await store.claim(request) },
        { _ = try await store.renew([lease], owner: 1, lease: .seconds(15)) },
      ]
      for write in writes {
        let error = await #expect(throws: StoreError.self) { try await write() }
        #expect(error?.code == .temporary && error?.remedy.contains("write permission") == true)
      }
      for id in ids { #expect(try await store.status(id)?.state == .sending) }
      await store.close()

      let again = try await SQLiteStore.open(path)
      // The worker of the store that was closed is dead.
      #expect(try await again.reap(except: []).count == 2)
      #expect(Set(try await again.claim(request).map(\.notificationID)) == Set(ids))
      _ = try await Self.publish(again, 4)
      await again.close()
    }
  }

  // MARK: Crashes

  /// Not a test of its own: what the child process of the next test runs.
  @Test(
    "Publishes until it is killed", .enabled(if: ProcessInfo.processInfo.environment["PUBLISH_UNTIL_KILLED"] != nil))
  func publishUntilKilled() async throws {
    let path = try #require(ProcessInfo.processInfo.environment["PUBLISH_UNTIL_KILLED"])
    let store = try await SQLiteStore.open(path)
    _ = try await store.bind([.example])
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in 0..<8 {
        group.addTask {
          for number in 0..<1_000_000 {
            let id = try await Self.publish(store, client * 1000 + number % 1000, payloadBytes: 500)
            let line = Array("stored \(id)\n".utf8)
            _ = write(1, line, line.count)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test(
    "Processes killed in the middle of publishing, the first of which made the file, have stored all they acknowledged",
    arguments: [(1, 100), (1, 1500), (2, 100), (2, 700)])
  func killed(processes: Int, after acknowledged: Int) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      var environment = BuiltProgram.defaultEnvironment
      environment["PUBLISH_UNTIL_KILLED"] = path
      var children: [RunningProgram] = []
      for _ in 0..<processes {
        children.append(
          try BuiltProgram(path: "/proc/self/exe").start(
            ["--testing-library", "swift-testing", "--filter", "publishUntilKilled"], environment: environment))
      }
      for child in children {
        try await eventually(within: .seconds(60), "a child's publishes") { Self.ids(child).count >= acknowledged }
      }
      for child in children { child.signal(SIGKILL) }
      for child in children { try await eventually("a child's end") { child.hasEnded } }

      let store = try await SQLiteStore.open(path)
      let stored = children.flatMap(Self.ids)
      #expect(Set(stored).count == stored.count && stored.count >= acknowledged * processes)
      for id in stored { #expect(try await store.status(id)?.state == .queued) }
      await store.close()
      let connection = try Connection(path: path, busyTimeout: .seconds(1))
      #expect(try connection.number("SELECT count(*) FROM task") >= Int64(stored.count))
      #expect(try connection.number("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'") == 0)
    }
  }

  /// The ids that a child has printed, the last line left out: it may be cut.
  private static func ids(_ child: RunningProgram) -> [NotificationID] {
    child.output.split(separator: "\n").dropLast().compactMap {
      $0.hasPrefix("stored ") ? NotificationID(text: $0.dropFirst("stored ".count)) : nil
    }
  }
}
