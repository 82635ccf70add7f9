import Foundation
import Operations
import PushCore
import Support
import Testing

@testable import APNs

@Suite("Provider tokens in files of the user", .timeLimit(.minutes(1)))
final class ProviderTokenFileTests {
  private let directory = FileManager.default.temporaryDirectory.appending(
    path: "pushrelay-\(UUID())/state/pushrelay"
  )
  .path
  private let key = ProviderKeyIdentity(
    teamID: "TESTTEAM01", keyID: "../../etc", publicKeySHA256: [1, 2, 3])

  deinit {
    let root = URL(filePath: directory).deletingLastPathComponent().deletingLastPathComponent()
    try? FileManager.default.removeItem(at: root)
  }

  private var store: ProviderTokenFile {
    ProviderTokenFile(directory: directory, clocks: SystemClocks())
  }

  private func mode(_ path: String) throws -> Int {
    try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
  }

  private func files() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
  }

  @Test("what one process stored another reads, in files for the user alone")
  func roundTrip() async throws {
    let record = ProviderTokenRecord(
      jwt: "a.b.c", issuedAt: 1_767_225_600, refusedUntil: UnixMilliseconds(5))
    let written = try await store.providerToken(of: key) { stored in
      #expect(stored == nil)
      return record
    }
    #expect(written == record)

    let read = try await store.providerToken(of: key) { stored in
      stored ?? .init(jwt: "", issuedAt: 0, refusedUntil: nil)
    }
    #expect(read == record)
    #expect(try mode(directory) == 0o700)
    let names = try files()
    #expect(names.count == 2)
    for name in names {
      #expect(name.hasPrefix("provider-token-"))
      #expect(try mode("\(directory)/\(name)") == 0o600)
    }
  }

  @Test("a damaged or empty file counts as none", arguments: ["", "{", "[]", "{\"jwt\":1}"])
  func damaged(content: String) async throws {
    let record = ProviderTokenRecord(jwt: "a.b.c", issuedAt: 1, refusedUntil: nil)
    _ = try await store.providerToken(of: key) { _ in record }
    let file = try #require(try files().first { $0.hasSuffix(".json") })
    try Data(content.utf8).write(to: URL(filePath: "\(directory)/\(file)"))

    _ = try await store.providerToken(of: key) { stored in
      #expect(stored == nil)
      return record
    }
  }

  @Test("twenty at once decide one after the other")
  func exclusive() async throws {
    let store = store
    let key = key
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<20 {
        group.addTask {
          _ = try await store.providerToken(of: key) { stored in
            ProviderTokenRecord(jwt: "a", issuedAt: (stored?.issuedAt ?? 0) + 1, refusedUntil: nil)
          }
        }
      }
      try await group.waitForAll()
    }
    let record = try await store.providerToken(of: key) {
      $0 ?? .init(jwt: "", issuedAt: 0, refusedUntil: nil)
    }
    #expect(record.issuedAt == 20)
  }

  @Test(
    "a lock held by a process that stands still is given up after five seconds, with a word on it")
  func heldLock() async throws {
    let clocks = DrivenClocks()
    let driven = ProviderTokenFile(directory: directory, clocks: clocks)
    let record = ProviderTokenRecord(jwt: "a", issuedAt: 1, refusedUntil: nil)
    _ = try await driven.providerToken(of: key) { _ in record }
    let name = try #require(try files().first { $0.hasSuffix(".lock") })
    let held = try #require(try FileLock(path: "\(directory)/\(name)"))
    defer { held.release() }

    let key = key
    let waiting = Task { try await driven.providerToken(of: key) { _ in record } }
    let error = await withTaskGroup(of: (any Error)?.self) { group in
      group.addTask {
        do {
          _ = try await waiting.value
          return nil
        } catch { return error }
      }
      group.addTask {
        while !Task.isCancelled {
          clocks.advance(by: .milliseconds(100))
          await Task.yield()
        }
        return nil
      }
      let first = await group.next()
      group.cancelAll()
      return first ?? nil
    }
    let failure = try #require(error as? StoreError)
    #expect(failure.code == .temporary)
    #expect(failure.underlying == "another process holds the lock")
  }

  @Test("a directory that cannot be made is named")
  func noDirectory() async throws {
    let store = ProviderTokenFile(directory: "/dev/null/pushrelay", clocks: SystemClocks())
    let error = try await #require(throws: StoreError.self) {
      _ = try await store.providerToken(of: key) { _ in
        .init(jwt: "", issuedAt: 0, refusedUntil: nil)
      }
    }
    #expect(error.description.contains("/dev/null"))
    #expect(error.remedy.contains("XDG_STATE_HOME"))
  }

  @Test("the directory follows the XDG specification")
  func defaultDirectory() {
    #expect(ProviderTokenFile.defaultDirectory(xdgStateHome: "/s", home: "/h") == "/s/pushrelay")
    #expect(
      ProviderTokenFile.defaultDirectory(xdgStateHome: "s", home: "/h")
        == "/h/.local/state/pushrelay")
    #expect(
      ProviderTokenFile.defaultDirectory(xdgStateHome: nil, home: "/h")
        == "/h/.local/state/pushrelay")
    #expect(ProviderTokenFile.defaultDirectory(xdgStateHome: nil, home: nil) == nil)
  }
}
