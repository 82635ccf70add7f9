internal import CSQLite
import PushCore

/// A result code of SQLite, and what it means to the caller of the store (https://www.sqlite.org/rescode.html).
struct ResultCode: Equatable {
  /// The extended code.
  let extended: Int32

  /// SQLITE_READONLY_DIRECTORY, a macro that is not imported: the log cannot be created beside the file.
  private static let readOnlyDirectory = SQLITE_READONLY | 6 << 8
  /// SQLITE_CONSTRAINT_TRIGGER, the same: only the triggers of a store that was moved raise it, with the place it went to.
  private static let movedStore = SQLITE_CONSTRAINT | 7 << 8

  /// The primary code: the low byte.
  var primary: Int32 { extended & 0xFF }

  /// A code as SQLite returned it.
  init(_ extended: Int32) { self.extended = extended }

  /// What the caller may do about it.
  var code: StoreError.Code {
    if extended == Self.readOnlyDirectory { return .notAllowed }
    if extended == Self.movedStore { return .unusable }
    return switch primary {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL, SQLITE_READONLY, SQLITE_IOERR, SQLITE_NOMEM, SQLITE_PROTOCOL:
      .temporary
    case SQLITE_CANTOPEN: .unavailable
    case SQLITE_PERM, SQLITE_AUTH: .notAllowed
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT: .unusable
    default: .internal
    }
  }

  /// What the reader should do; one sentence.
  var remedy: String {
    if extended == Self.movedStore { return "Name that place in the setting store." }
    return switch primary {
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
      "End its transaction (a sqlite3 shell, a backup) and try again."
    case SQLITE_FULL: "Free space on the disk, or raise the size limit of the store, and try again."
    case SQLITE_READONLY:
      "Give this user write permission on the file and its directory, or mount the disk for writing."
    case SQLITE_IOERR: "Look for disk errors in the system log; nothing was written."
    case SQLITE_NOMEM: "Give the process more memory and try again."
    case SQLITE_CANTOPEN: "Check that the directory exists, and the limit of open files."
    case SQLITE_PERM, SQLITE_AUTH: "Give this user permission to read and write the file and its directory."
    case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT:
      "Stop every process that uses the file and restore it from a backup; check that the path is a pushrelay database."
    default: "This is a bug: please report it with this message."
    }
  }

  /// The error of a call that returned this code; `message` is SQLite's, which names tables and columns but no values.
  func error(_ operation: String, message: String) -> StoreError {
    let isLocked = primary == SQLITE_BUSY || primary == SQLITE_LOCKED
    let words = isLocked ? "another process holds the write lock" : message
    return StoreError(
      code: code, operation: operation, underlying: "\(words) (SQLite code \(extended))", remedy: remedy)
  }
}
