internal import CLinux
internal import Glibc
import PushCore

/// The file below the database: where it may lie, and who may read it.
enum DatabaseFile {
  /// S_IFREG with mode 0600 (the name has two types here).
  private static let fileTypeAndMode: mode_t = 0o100_600

  /// Creates an empty file that only this user may read, unless there is one.
  ///
  /// `mknod` opens no descriptor: closing one would drop the locks that this process holds on the file
  /// (https://www.sqlite.org/howtocorrupt.html, section 2.2). SQLite gives the log and its index the same mode.
  static func createIfMissing(_ path: String) throws(StoreError) {
    guard !path.isEmpty, !path.utf8.contains(0), !path.hasPrefix(":") else {
      throw StoreError(
        code: .unavailable, operation: "open sqlite:\(path)", underlying: "this is no path of a file",
        remedy: "Give the path of a file on a local disk, such as sqlite:/var/lib/pushrelay/pushrelay.db.")
    }
    guard unsafe mknod(path, fileTypeAndMode, 0) == 0 else {
      if errno == EEXIST { return }
      throw failure("create sqlite:\(path)")
    }
    try syncDirectory(of: path)
  }

  /// Whether the file is there and this user may use it, said before SQLite says only that it cannot open it.
  static func checkAccess(_ path: String) throws(StoreError) {
    guard unsafe access(path, R_OK | W_OK) != 0 else { return }
    let number = errno
    let operation = "open sqlite:\(path)"
    switch number {
    case ENOENT:
      throw StoreError(
        code: .unavailable, operation: operation, underlying: "there is no such file",
        remedy: "Check the path; pushrelay migrate or pushrelay serve creates the store.")
    case EACCES, EPERM, EROFS:
      throw StoreError(
        code: .notAllowed, operation: operation, underlying: "this user may not read and write the file",
        remedy: "Run as the file's owner, or give this user permission on the file and its directory.")
    default: throw failure(operation)
    }
  }

  /// Makes the file's entry durable: SQLite does that for the files it makes itself.
  private static func syncDirectory(of path: String) throws(StoreError) {
    let slash = path.lastIndex(of: "/")
    let directory = slash.map { String(path[...$0]) } ?? "."
    let file = unsafe Glibc.open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard file >= 0, fsync(file) == 0 else { throw failure("sync the directory of sqlite:\(path)") }
    _ = close(file)
  }

  /// Refuses network file systems: the log's index is shared memory, and locks of several machines do not hold
  /// (https://www.sqlite.org/wal.html, "All processes using a database must be on the same host computer").
  static func checkDisk(_ path: String) throws(StoreError) {
    var disk = statfs()
    guard unsafe statfs(path, &disk) == 0 else { throw failure("look at the disk of sqlite:\(path)") }
    guard let kind = networkKind(magic: UInt64(UInt32(truncatingIfNeeded: disk.f_type)), path: path) else { return }
    throw StoreError(
      code: .unavailable, operation: "open sqlite:\(path)",
      underlying: "the file lies on \(kind), a network file system",
      remedy: "Put the database on a local disk, or use PostgreSQL for several machines.")
  }

  /// The name of a file system that several machines may share, by its magic number (linux/magic.h); nil for the others.
  static func networkKind(magic: UInt64, path: String) -> String? {
    switch magic {
    case 0x6969: "NFS"
    case 0x517B, 0xFE53_4D42, 0xFF53_4D42: "SMB"
    case 0x0102_1997: "9P"
    case 0x00C3_6400: "Ceph"
    case 0x5346_414F, 0x6B41_4653: "AFS"
    case 0x7375_7245: "Coda"
    case 0x0116_1970: "GFS2"
    case 0x7461_636F: "OCFS2"
    case 0x0BD0_0BD0: "Lustre"
    case 0x6573_5546: networkFUSE(path)
    default: nil
    }
  }

  /// FUSE carries network file systems and local ones alike; its type in the table of mounts says which.
  private static func networkFUSE(_ path: String) -> String? {
    var file = stat()
    guard unsafe stat(path, &file) == 0 else { return "FUSE" }
    // The numbers as glibc packs them (sys/sysmacros.h).
    let number = UInt64(file.st_dev)
    let major = number >> 8 & 0xFFF | number >> 32 & ~0xFFF
    let minor = number & 0xFF | number >> 12 & ~0xFF
    let device = "\(major):\(minor)"
    for line in mounts().split(separator: "\n") {
      let fields = line.split(separator: " ")
      guard fields.count > 4, fields[2] == device, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
      else { continue }
      let type = String(fields[dash + 1])
      return ["fuseblk", "fuse.fuse-overlayfs", "fuse.ntfs-3g"].contains(type) ? nil : type
    }
    return "FUSE"
  }

  private static func mounts() -> String {
    let file = unsafe open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return "" }
    defer { _ = close(file) }
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = unsafe read(file, &buffer, buffer.count)
      guard count > 0 else { return String(decoding: text, as: UTF8.self) }
      text.append(contentsOf: buffer[..<count])
    }
  }

  /// The error of a system call that just failed.
  static func failure(_ operation: String) -> StoreError {
    let number = errno
    let text = unsafe String(cString: strerror(number))
    return switch number {
    case EACCES, EPERM:
      StoreError(
        code: .notAllowed, operation: operation, underlying: text,
        remedy: "Give this user permission to write in the directory.")
    case ENOSPC, EDQUOT:
      StoreError(
        code: .temporary, operation: operation, underlying: text, remedy: "Free space on the disk and try again.")
    default:
      StoreError(
        code: .unavailable, operation: operation, underlying: text,
        remedy: "Check the path: the directory must exist on a disk mounted for writing.")
    }
  }
}

/// A lock that one open store holds among all processes, until it is released or its process ends.
final class LockFile {
  private let path: String
  private var file: Int32 = -1

  /// Nothing is locked yet.
  init(path: String) { self.path = path }

  deinit {
    if file >= 0 { _ = close(file) }
  }

  /// Takes the lock if nobody has it; true when this object has it. A file that cannot be opened reads as "somebody has it": the caller asks
  /// again later.
  func tryLock() -> Bool {
    if file >= 0 { return true }
    let opened = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard opened >= 0 else { return false }
    guard flock(opened, LOCK_EX | LOCK_NB) == 0 else {
      _ = close(opened)
      return false
    }
    file = opened
    return true
  }
}
