import PushCore

/// The five characters by which PostgreSQL names a failure, and what they mean to the caller of the store
/// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
struct SQLState: Equatable {
  /// The characters; empty when there was no answer.
  let code: String

  /// The connection broke or nothing answered.
  static let none = SQLState("")

  /// A state as the server gave it.
  init(_ code: String) { self.code = code }

  private var category: Substring { code.prefix(2) }

  /// Whether the transaction was undone only because of another one: it may simply be repeated.
  var isConflict: Bool { code == "40001" || code == "40P01" }

  /// Whether a prepared statement was not there, or there already: something between us and the server shares its sessions.
  var isUnprepared: Bool { code == "26000" || code == "42P05" }

  /// Whether the server takes no writes: a standby, or a primary that became one.
  var isReadOnly: Bool { code == "25006" }

  /// What the caller may do about it.
  var storeCode: StoreError.Code {
    switch (code, category) {
    case ("3D000", _): .unavailable
    case ("42501", _), (_, "28"): .notAllowed
    case ("42P01", _), ("42703", _), ("42883", _), ("3F000", _), (_, "XX"): .unusable
    case ("25006", _), ("55P03", _), ("55006", _), ("57014", _), ("", _): .temporary
    case (_, "08"), (_, "40"), (_, "53"), (_, "57"), (_, "58"): .temporary
    default: .internal
    }
  }

  /// What the reader should do; one sentence.
  var remedy: String {
    switch (code, category) {
    case ("", _), (_, "08"): "Look whether the server runs and the network leads to it; then try again."
    case ("3D000", _): "Create the database with createdb, or correct the name in the URL."
    case ("42501", _):
      "Give the role the right to it, or run pushrelay migrate once as the owner of the schema pushrelay."
    case (_, "28"): "Correct the user or the password in the URL, or the server's pg_hba.conf."
    case ("42P01", _), ("42703", _), ("3F000", _):
      "Run pushrelay migrate, or restore the schema pushrelay from a backup."
    case (_, "XX"): "Look into the server's log; the database may be damaged."
    case ("25006", _): "Name the primary server in the URL: this one takes no writes."
    case ("53100", _): "Free space on the server's disk and try again."
    case ("53300", _): "Raise max_connections of the server, or end connections; then try again."
    case ("55P03", _), ("55006", _), ("57014", _): "End the transaction that holds the lock, and try again."
    case (_, "57"): "Wait until the server has started, and try again."
    case (_, "40"), (_, "53"), (_, "58"): "Look into the server's log, and try again."
    default: "This is a bug: please report it with this message."
    }
  }

  /// The error of an operation that met this state; `message` is the server's, which names tables and columns but no values.
  func error(_ operation: String, message: String) -> StoreError {
    StoreError(
      code: storeCode, operation: operation, underlying: code.isEmpty ? message : "\(message) (SQLSTATE \(code))",
      remedy: remedy)
  }
}
