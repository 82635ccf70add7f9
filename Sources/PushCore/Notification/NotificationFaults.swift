import Operations

/// One thing found in a notification's request, and where.
public struct NotificationFinding: Sendable, Equatable, CustomStringConvertible {
  /// The member, such as `target.interests[3]`; the payload's own members are under `payload`.
  public var path: String
  /// What is wrong and what is taken instead; names no device token and no payload.
  public var detail: String

  /// A finding by its parts.
  public init(_ path: String, _ detail: String) {
    self.path = path
    self.detail = detail
  }

  /// Path and detail in one line; names come from the sender, so that control characters are escaped.
  public var description: String { PrintableText.escaped(path.isEmpty ? detail : "\(path): \(detail)") }
}

/// Why a request is not taken: every fault of it. Nothing was enqueued.
public struct NotificationFaults: Error, Sendable, Equatable, CustomStringConvertible {
  /// The faults, at least one.
  public var findings: [NotificationFinding]
  /// Whether the payload is over its limit: HTTP has a status of its own for that (413).
  public var isPayloadTooLarge: Bool

  /// Faults by their parts.
  public init(_ findings: [NotificationFinding], isPayloadTooLarge: Bool = false) {
    self.findings = findings
    self.isPayloadTooLarge = isPayloadTooLarge
  }

  /// All of them in one line.
  public var description: String { findings.map(\.description).joined(separator: "; ") }
}
