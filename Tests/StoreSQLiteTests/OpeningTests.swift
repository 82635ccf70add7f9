import Foundation
import Operations
import PushCore
import Support
import Testing

@testable import StoreSQLite

/// What happens when the file is opened.
@Suite(.timeLimit(.minutes(1))) struct OpeningTests {
  @Test("Only this user may read the file, its log and what stands beside it")
  func fileModes() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let store = try await SQLiteStore.open(path)
      _ = try await store.bind([.example])
      _ = try await store.claimExpired(owner: 7, lease: .seconds(15), limit: 1)
      // The checkpointer takes its lock at its first look.
      try await eventually("the lock file") { FileManager.default.fileExists(atPath: path + "-checkpointer") }

      for file in [path, path + "-wal", path + "-shm", path + "-checkpointer", path + "-bell", path + "-worker-7"] {
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600, "\(file)")
      }
      await store.close()
      #expect(!FileManager.default.fileExists(atPath: path + "-wal"))
    }
  }

  @Test("A reader of a store that is not there is told so, and nothing is made")
  func createsNothing() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")
    var options = SQLiteStore.Options()
    options.creates = false

    let error = try await #require(throws: StoreError.self) { _ = try await SQLiteStore.open(path, options: options) }

    #expect(error.code == .unavailable && error.description.contains("there is no store at \(path)"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    await (try await SQLiteStore.open(path)).close()
    await (try await SQLiteStore.open(path, options: options)).close()
  }

  @Test("A new file is brought from version 0 to the present one, once")
  func migratesNewFile() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")

    let first = try SQLiteStore.migrate(path: path)
    #expect(first.from == 0 && first.to == Migrations.all.count)
    let second = try SQLiteStore.migrate(path: path)
    #expect(second.from == second.to && second.to == Migrations.all.count)
  }

  @Test("An upgrade runs what is missing and keeps the data")
  func upgrades() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let store = try await SQLiteStore.open(path)
      _ = try await store.bind([.example])
      await store.close()
      let next = Migrations.all + ["CREATE TABLE later(a INTEGER) STRICT; INSERT INTO later SELECT app_id FROM app"]

      let connection = try Connection.openWriter(path, .init())
      let versions = try Migrations.apply(next, to: connection)
      #expect(versions.from == Migrations.all.count && versions.to == next.count)
      #expect(try connection.number("SELECT count(*) FROM later") == 1)
      #expect(try Migrations.apply(next, to: connection).from == next.count)
      #expect(try connection.number("SELECT count(*) FROM later") == 1)
    }
  }

  @Test("A file of the first schema keeps its credentials and can name certificates")
  func certificates() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let connection = try Connection.openWriter(path, .init())
      #expect(try Migrations.apply([Migrations.migration001], to: connection).to == 1)
      try connection.execute("INSERT INTO app(app_id,topic,created_at) VALUES(1,'com.example.old',0)")
      try connection.execute(
        "INSERT INTO credential(app_id,environment,team_id,key_id,signer_seen_at) VALUES(1,0,'TEAM123456','KEY1234567',0)"
      )

      let store = try await SQLiteStore.open(path)
      var credential = try #require(try await store.credentials().first)
      #expect(credential.keyID == "KEY1234567" && credential.certificateSHA256 == nil)
      _ = try await store.bind([
        AppBinding(
          topic: "com.example.old", environment: .production, teamID: nil, keyID: nil, certificateSHA256: [1, 2, 3])
      ])
      credential = try #require(try await store.credentials().first)
      #expect(credential.teamID == nil && credential.keyID == nil && credential.certificateSHA256 == [1, 2, 3])
      await store.close()
    }
  }

  @Test("A file of the fifth schema keeps its open notifications, which have no values of recipients")
  func recipients() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let connection = try Connection.openWriter(path, .init())
      #expect(try Migrations.apply(Array(Migrations.all[..<5]), to: connection).to == 5)
      try connection.execute(
        """
        INSERT INTO app(app_id,topic,created_at) VALUES(1,'com.example.old',0);
        INSERT INTO notification(notification_id,app_id,lane,created_at,not_before,expires_at,row_receipts,target,headers,payload)
          VALUES(7,1,1,0,0,9,1,x'0100000000',CAST('{"push_type":"alert","priority":10}' AS BLOB),CAST('{"{{a}}":1}' AS BLOB))
        """)

      let store = try await SQLiteStore.open(path)
      let notification = try #require(try await store.notification(NotificationID(7)))
      #expect(notification.substitutions == nil && notification.payload == Array(#"{"{{a}}":1}"#.utf8))
      await store.close()
    }
  }

  @Test("A file of the third schema keeps its retired devices and feeds them")
  func retiredDevices() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let connection = try Connection.openWriter(path, .init())
      let before = [Migrations.migration001, Migrations.migration002, Migrations.migration003]
      #expect(try Migrations.apply(before, to: connection).to == 3)
      try connection.execute("INSERT INTO app(app_id,topic,created_at) VALUES(1,'com.example.old',0)")
      try connection.execute(
        "INSERT INTO credential(credential_id,app_id,environment,signer_seen_at) VALUES(1,1,0,0)")
      try connection.execute(
        "INSERT INTO device(device_id,credential_id,token,registered_at,retired_at) VALUES(7,1,'ab',5,9),(8,1,'cd',5,NULL)"
      )

      let store = try await SQLiteStore.open(path)
      let place = RetirementPlace(at: UnixMilliseconds(0), device: DeviceID(0))
      #expect(try await store.retiredDevices(topics: nil, after: place, limit: 10).map(\.token.text) == ["ab"])
      #expect(try await store.apiKeys().isEmpty)
      await store.close()
    }
  }

  @Test("A file of the fourth schema keeps its subscriptions and takes interests that wait")
  func pendingInterests() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let connection = try Connection.openWriter(path, .init())
      #expect(try Migrations.apply(Array(Migrations.all.prefix(4)), to: connection).to == 4)
      try connection.execute("INSERT INTO app(app_id,topic,created_at) VALUES(1,'com.example.old',0)")
      try connection.execute("INSERT INTO credential(credential_id,app_id,environment,signer_seen_at) VALUES(1,1,0,0)")
      try connection.execute("INSERT INTO device(device_id,credential_id,token,registered_at) VALUES(7,1,'ab',5)")
      try connection.execute("INSERT INTO interest(interest_id,app_id,name) VALUES(3,1,'auth-x')")
      try connection.execute("INSERT INTO subscription(interest_id,device_id) VALUES(3,7)")

      let store = try await SQLiteStore.open(path)
      let id = BeamsDeviceID(instance: "i", id: "apns-1")
      let device = try await store.register(
        id,
        device: DeviceRegistration(
          topic: "com.example.old", environment: .production, token: DeviceToken(stored: "ab")), metadata: nil)
      #expect(device.interests == ["auth-x"])
      #expect(try await store.change(.add(AskedInterests(open: [], protected: ["auth-y"])), of: id) == .done)
      #expect(try await store.subscriberCount(of: "auth-y", topics: nil) == 0)
      await store.close()
    }
  }

  @Test("A file from before webhooks keeps its publishes and takes webhooks")
  func webhooks() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let connection = try Connection.openWriter(path, .init())
      let before = Array(Migrations.all.prefix { $0 != Migrations.migration007 })
      #expect(try Migrations.apply(before, to: connection).to == before.count)
      try connection.execute("INSERT INTO app(app_id,topic,created_at) VALUES(1,'com.example.old',0)")
      try connection.execute("INSERT INTO beams_publish(publish_id,notification_id,instance_id) VALUES('p-1',7,'i')")

      let store = try await SQLiteStore.open(path)
      #expect(try await store.claimWebhooks(lease: .seconds(60), limit: 9).isEmpty)
      let publication = Publication(
        topic: "com.example.old", target: Target(interests: ["a"]), payload: [],
        headers: PushHeaders(pushType: .alert, priority: .low), lane: .normal)
      _ = try await store.publish(
        [publication], publishID: "p-2", instance: "i",
        webhook: Webhook(url: SecretText("https://example.com"), requestBody: [1]))
      #expect(try await store.claimWebhooks(lease: .seconds(60), limit: 9).map(\.publishID) == ["p-2"])
      #expect(try connection.number("SELECT count(*) FROM beams_publish") == 2)
      await store.close()
    }
  }

  @Test("A migration that fails leaves the file as it was")
  func failedMigration() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "relay.db")
    _ = try SQLiteStore.migrate(path: path)
    let connection = try Connection.openWriter(path, .init())
    let broken = Migrations.all + ["CREATE TABLE later(a INTEGER) STRICT; INSERT INTO nowhere VALUES(1)"]

    #expect(throws: StoreError.self) { try Migrations.apply(broken, to: connection) }
    #expect(try connection.number("SELECT count(*) FROM sqlite_schema WHERE name='later'") == 0)
    #expect(try Migrations.apply(to: connection).from == Migrations.all.count)
  }

  @Test("A file of a newer version is refused and left alone")
  func newerVersion() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let newer = Migrations.all + ["CREATE TABLE later(a INTEGER) STRICT"]
      _ = try Migrations.apply(newer, to: try Connection.openWriter(path, .init()))

      let error = await #expect(throws: StoreError.self) { _ = try await SQLiteStore.open(path) }
      #expect(error?.code == .unusable)
      #expect(error?.description.contains("version \(newer.count)") == true)
    }
  }

  @Test("Another program's database and a file that is none are refused")
  func foreignFiles() async throws {
    try await withTemporaryDirectory { directory in
      let foreign = directory.path(of: "foreign.db")
      let connection = try Connection.openWriter(foreign, .init())
      try connection.execute("CREATE TABLE theirs(a)")
      let text = try directory.write(String(repeating: "not a database\n", count: 100), to: "text.db")

      for path in [foreign, text] {
        let error = await #expect(throws: StoreError.self) { _ = try await SQLiteStore.open(path) }
        #expect(error?.code == .unusable)
      }
      #expect(try connection.number("SELECT count(*) FROM sqlite_schema") == 1)
    }
  }

  @Test("A path that is no path of a file is refused with words", arguments: ["", ":memory:", "a\0b"])
  func impossiblePaths(_ path: String) async throws {
    let error = await #expect(throws: StoreError.self) { _ = try await SQLiteStore.open(path) }
    #expect(error?.code == .unavailable)
    #expect(error?.remedy.contains("path of a file") == true)
  }

  @Test("A missing directory is named")
  func missingDirectory() async throws {
    let error = await #expect(throws: StoreError.self) { _ = try await SQLiteStore.open("/nowhere/relay.db") }
    #expect(error?.code == .unavailable)
    #expect(error?.description.contains("/nowhere/relay.db") == true)
  }

  @Test("A file that this user may only read is refused", .enabled(if: geteuid() != 0, "root may write everything"))
  func readOnlyFile() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      try await SQLiteStore.open(path).close()
      chmod(path, 0o400)
      let error = await #expect(throws: StoreError.self) { _ = try await SQLiteStore.open(path) }
      #expect(error?.code == .notAllowed)
    }
  }

  @Test("Twenty that open a new file at once all find it whole")
  func concurrentOpens() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.path(of: "relay.db")
      let stores = try await withThrowingTaskGroup(of: SQLiteStore.self) { group in
        for _ in 0..<20 { group.addTask { try await SQLiteStore.open(path) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      for (number, store) in stores.enumerated() {
        var binding = AppBinding.example
        binding.topic += ".\(number)"
        _ = try await store.bind([binding])
      }
      #expect(try await stores[0].credentials().count == 20)
      for store in stores { await store.close() }
    }
  }

  @Test("File systems of several machines are told by name")
  func networkFileSystems() {
    #expect(DatabaseFile.networkKind(magic: 0x6969, path: "/") == "NFS")
    #expect(DatabaseFile.networkKind(magic: 0xFF53_4D42, path: "/") == "SMB")
    #expect(DatabaseFile.networkKind(magic: 0xEF53, path: "/") == nil)
    #expect(DatabaseFile.networkKind(magic: 0x0102_1994, path: "/") == nil)
    // A path that no mount of type fuse holds reads by the type of its own mount.
    #expect(DatabaseFile.networkKind(magic: 0x6573_5546, path: "/") != nil)
  }

  @Test("The lock of the checkpointer has one holder")
  func lockFile() throws {
    let directory = try TemporaryDirectory()
    let path = directory.path(of: "lock")
    var first: LockFile? = LockFile(path: path)
    let second = LockFile(path: path)

    #expect(first?.tryLock() == true)
    #expect(first?.tryLock() == true)
    #expect(!second.tryLock())
    first = nil
    #expect(second.tryLock())
  }
}

extension AppBinding {
  static let example = AppBinding(
    topic: "com.example.app", environment: .production, teamID: "TEAM123456", keyID: "KEY1234567")
}

extension Connection {
  /// The one number that a statement returns.
  func number(_ sql: String) throws(StoreError) -> Int64 {
    var number: Int64 = -1
    try rows(text: sql, []) { (row) throws(StoreError) in number = row.integer(0) }
    return number
  }
}
