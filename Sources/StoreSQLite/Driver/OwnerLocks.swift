internal import CLinux
internal import Glibc
import Operations
import PushCore

/// Files beside the database that show which workers live: each worker holds the lock of its own for as long as its process does.
///
/// Called by the writer alone, within its transactions: so nobody looks between the moment a worker takes its lock and its first lease.
final class OwnerLocks: Sendable {
  private let folder: String
  private let prefix: String
  /// The open files of this store's owners; nil where there is no lock to be had.
  private let held = Lock([Int64: Int32?]())

  /// The locks beside a database; nothing is locked yet.
  init(database path: String) {
    let slash = path.lastIndex(of: "/")
    folder = slash.map { String(path[...$0]) } ?? "./"
    prefix = path[(slash.map { path.index(after: $0) } ?? path.startIndex)...] + "-worker-"
  }

  deinit { release() }

  /// Takes the lock of an owner, unless this store has it. Must come before the owner's first lease.
  ///
  /// Where no lock can be had, that is not tried again: a lock that comes after a lease could be looked at before it is locked. Without its
  /// file an owner is never called dead.
  func hold(_ owner: Int64) throws(StoreError) {
    try held.withLock { (held) throws(StoreError) in
      if held[owner] == nil { held[owner] = .some(try lock(owner)) }
    }
  }

  private func lock(_ owner: Int64) throws(StoreError) -> Int32? {
    let file = unsafe open(path(owner), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o600)
    guard file >= 0 else { return nil }
    let isOurs = isOurs(file)
    if isOurs, flock(file, LOCK_EX | LOCK_NB) == 0 { return file }
    let isTaken = isOurs && errno == EWOULDBLOCK
    _ = close(file)
    guard isTaken else { return nil }
    throw StoreError(
      code: .internal, operation: "lock \(path(owner))", underlying: "another process works as the same owner",
      remedy: "Start this relay again: each start draws an owner of its own.")
  }

  /// Whether other processes work on the database.
  func isServed() -> Bool {
    let own = held.withLock { $0 }
    return owners().contains { own[$0] == nil && isHeld($0) }
  }

  /// The owners whose processes have ended: they had a lock, and nobody holds it.
  func dead() -> [Int64] {
    let own = held.withLock { $0 }
    return owners().filter { own[$0] == nil && isFree($0) }
  }

  /// Removes the files of dead owners.
  func remove(_ owners: [Int64]) {
    for owner in owners { _ = unsafe unlink(path(owner)) }
  }

  /// Gives all locks back: from now on the owners of this store count as dead.
  func release() {
    let files = held.withLock { held in
      defer { held = [:] }
      return held.values
    }
    for case let file? in files { _ = close(file) }
  }

  private func path(_ owner: Int64) -> String { folder + prefix + String(owner) }

  private func isFree(_ owner: Int64) -> Bool { isLocked(owner) == false }

  private func isHeld(_ owner: Int64) -> Bool { isLocked(owner) == true }

  /// nil where that cannot be found out.
  private func isLocked(_ owner: Int64) -> Bool? {
    let file = unsafe open(path(owner), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { _ = close(file) }
    guard isOurs(file) else { return nil }
    // Shared, so that two that look at the same time do not take each other for the owner.
    if flock(file, LOCK_SH | LOCK_NB) == 0 { return false }
    return errno == EWOULDBLOCK ? true : nil
  }

  /// Whether it is a file that a process of this user made, and not something put in its place.
  private func isOurs(_ file: Int32) -> Bool {
    var status = stat()
    return unsafe fstat(file, &status) == 0 && status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid()
  }

  /// The owners that have a file.
  private func owners() -> [Int64] {
    guard let directory = unsafe opendir(folder) else { return [] }
    defer { _ = unsafe closedir(directory) }
    var owners: [Int64] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { bytes in unsafe Array(bytes.prefix { $0 != 0 }) }
      guard name.starts(with: prefix.utf8) else { continue }
      let number = String(decoding: name.dropFirst(prefix.utf8.count), as: UTF8.self)
      if let owner = Int64(number) { owners.append(owner) }
    }
    return owners
  }
}
