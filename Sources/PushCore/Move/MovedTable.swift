/// One table whose rows move from one store to another: its columns by the names and forms that both stores have in common.
public struct MovedTable: Sendable {
  /// How a column's values are stored.
  public enum Form: Sendable {
    /// A whole number.
    case integer
    /// A text.
    case text
    /// Several texts; what is read for them is a JSON array.
    case texts
    /// Bytes.
    case bytes
    /// A time.
    case time
    /// A truth value.
    case flag
  }

  /// A column.
  public struct Column: Sendable {
    /// Its name.
    public let name: String
    /// The form of its values.
    public let form: Form
    /// What is read for it from the source: itself, or what stands for it there.
    public let source: String
  }

  /// Its name.
  public let name: String
  /// The table of the source that its rows are read from.
  public let source: String
  /// Its columns; the first ones are its key.
  public let columns: [Column]
  /// How many columns the key has; 0: few rows, which are moved at once.
  public let keyCount: Int
  /// What the rows of both stores are counted by, for the comparison at the end.
  public let measure: String

  private init(
    _ name: String, from source: String? = nil, key keyCount: Int, measure: String = "count(*)", _ columns: String
  ) {
    self.name = name
    self.source = source ?? name
    self.keyCount = keyCount
    self.measure = measure
    self.columns = columns.split(separator: ",").map { Self.column(String($0.drop { $0 == " " || $0 == "\n" })) }
  }

  /// "name", "name:form" or "name:form=what is read for it".
  private static func column(_ text: String) -> Column {
    let halves = text.split(separator: "=", maxSplits: 1).map(String.init)
    let parts = halves[0].split(separator: ":").map(String.init)
    let form: Form =
      switch parts.last {
      case "text": .text
      case "texts": .texts
      case "bytes": .bytes
      case "time": .time
      case "flag": .flag
      default: .integer
      }
    return Column(name: parts[0], form: form, source: halves.count == 2 ? halves[1] : parts[0])
  }

  /// All of them, in the order in which they move: what others refer to first, work last. Who has leases keeps none: a lease of the past
  /// ends here as it does in a worker's care.
  public static let all = [
    MovedTable("app", key: 1, "app_id, topic:text, created_at:time"),
    MovedTable(
      "credential", key: 1,
      """
      credential_id, app_id, environment, team_id:text, key_id:text, certificate_sha256:bytes, approx_devices, held_since:time,
      held_reason:text, trouble:text, trouble_since:time, signer_seen_at:time
      """),
    MovedTable(
      "provider_token", key: 0, "team_id:text, key_id:text, public_key_sha256:bytes, jwt:text, iat, refused_until:time"),
    MovedTable(
      "api_key", key: 1,
      """
      key_id, name:text, secret_sha256:bytes, topics:texts, actions:texts, created_at:time, last_used_at:time, revoked_at:time
      """),
    MovedTable(
      "device", key: 1,
      """
      device_id, credential_id, token:text, user_id:text, user_verified:flag, language:text, registered_at:time, retired_at:time,
      retired_reason
      """),
    MovedTable("interest", key: 1, "interest_id, app_id, name:text, approx_size, owner_user:text"),
    MovedTable("subscription", key: 2, "interest_id, device_id"),
    MovedTable("subscription_pending", key: 2, "device_id, interest_id"),
    MovedTable("app_user", key: 1, "user_id:text, name:text, created_at:time, updated_at:time"),
    MovedTable("beams_device", key: 2, "device_id, instance_id:text, beams_id:text, metadata:bytes"),
    MovedTable("reason", from: "(SELECT * FROM reason WHERE reason_id>=1000)", key: 1, "reason_id, text:text"),
    MovedTable("idempotency", key: 2, "scope, key:text, request_hash:bytes, notification_id, expires_at:time"),
    MovedTable(
      "notification", key: 1,
      """
      notification_id, app_id, lane, created_at:time, not_before:time, expires_at:time, row_receipts:flag, target:bytes,
      headers:bytes, payload:bytes, substitutions:bytes
      """),
    MovedTable(
      "notification_state", key: 1, "notification_id, open_tasks, canceled_at:time, done_at:time, cut:flag, erased:flag"
    ),
    MovedTable(
      "notification_total", from: "notification_state", key: 1,
      "notification_id, slot=0, devices, accepted, rejected, expired, canceled, failed, skipped"),
    MovedTable(
      "receipt_chunk", key: 4, measure: "coalesce(sum(n),0)",
      "notification_id, attempt, first_device, last_device, n, at:time, codes:bytes"),
    MovedTable(
      "receipt", key: 2,
      """
      notification_id, device_id, attempt, tries, outcome, status, reason, at:time, latency_ms, apns_unique_id:text
      """),
    MovedTable("beams_publish", key: 2, "notification_id, publish_id:text, instance_id:text"),
    MovedTable("receipt_mark", key: 2, "notification_id, device_id, delivered_at:time, opened_at:time"),
    MovedTable(
      "beams_webhook", key: 1,
      "publish_id:text, url:text, body:bytes, state, tries, created_at:time, due_at:time, epoch"),
    MovedTable(
      "task", key: 1,
      """
      task_id, notification_id, app_id, credential_id, lane, due_at:time, expires_at:time, attempt, tries, lo, hi, cursor, seq_hi,
      list:bytes, n, settled, state=CASE WHEN state<>1 THEN state WHEN claims>=5 THEN 2 ELSE 0 END, epoch, claims
      """),
  ]
}

/// A value of a row that moves.
public enum MovedValue: Sendable, Equatable {
  /// NULL.
  case null
  /// A whole number, a time in UNIX milliseconds, or a truth value as 0 or 1.
  case integer(Int64)
  /// A text, or a JSON array of texts.
  case text(String)
  /// Bytes.
  case bytes([UInt8])
}

/// The key of the last row that moved, as the destination keeps it between two batches.
public struct MovedKey: Sendable, Equatable {
  /// Its values, as many as the table's key has columns.
  public let values: [MovedValue]

  /// Between two values; only the last value may be a text, so that it may hold one itself.
  private static let separator: Character = " "

  /// The key of a row.
  public init(of row: [MovedValue], in table: MovedTable) { values = Array(row.prefix(table.keyCount)) }

  /// Reads the stored form; nil when it is none of this table.
  public init?(_ text: String, of table: MovedTable) {
    guard table.keyCount > 0 else {
      values = []
      return
    }
    let parts = text.split(
      separator: Self.separator, maxSplits: max(table.keyCount - 1, 0), omittingEmptySubsequences: false)
    guard parts.count == table.keyCount else { return nil }
    var values: [MovedValue] = []
    for (part, column) in zip(parts, table.columns) {
      switch column.form {
      case .text: values.append(.text(String(part)))
      default:
        guard let number = Int64(part) else { return nil }
        values.append(.integer(number))
      }
    }
    self.values = values
  }

  /// The stored form.
  public var text: String {
    values.map { value in
      switch value {
      case .integer(let number): String(number)
      case .text(let text): text
      case .null, .bytes: ""
      }
    }.joined(separator: String(Self.separator))
  }
}
