import Operations

/// What a backend may do with an API key.
public enum APIAction: String, Sendable, CaseIterable {
  /// Enqueue and cancel notifications.
  case send
  /// Read notifications, receipts, devices, interests and apps.
  case read
  /// Register and remove devices, their interests and their users.
  case devices
  /// Pause and resume apps.
  case apps
}

/// The id of an API key; also the scope of its idempotency keys.
public struct APIKeyID: Sendable, Hashable, CustomStringConvertible {
  /// The number, from 1.
  public let rawValue: Int64

  /// An id by its number.
  public init(_ rawValue: Int64) { self.rawValue = rawValue }

  /// The decimal text.
  public var description: String { String(rawValue) }
}

/// An API key as it is stored: what it may do, and the digest of its secret, never the secret.
public struct APIKey: Sendable, Equatable {
  /// Its id.
  public var id: APIKeyID
  /// For people: who has it.
  public var name: String
  /// SHA-256 of the secret.
  public var secretSHA256: [UInt8]
  /// The apps it is for, by their topics; nil = all.
  public var topics: [String]?
  /// What it may do; nil = everything.
  public var actions: Set<APIAction>?
  /// When it was made.
  public var createdAt: UnixMilliseconds
  /// When it was used last, to the hour; nil = never.
  public var lastUsedAt: UnixMilliseconds?
  /// Since when it is refused; nil = it is good.
  public var revokedAt: UnixMilliseconds?

  /// A key by its values.
  public init(
    id: APIKeyID, name: String, secretSHA256: [UInt8], topics: [String]?, actions: Set<APIAction>?,
    createdAt: UnixMilliseconds, lastUsedAt: UnixMilliseconds? = nil, revokedAt: UnixMilliseconds? = nil
  ) {
    self.id = id
    self.name = name
    self.secretSHA256 = secretSHA256
    self.topics = topics
    self.actions = actions
    self.createdAt = createdAt
    self.lastUsedAt = lastUsedAt
    self.revokedAt = revokedAt
  }

  /// Whether it may do this.
  public func allows(_ action: APIAction) -> Bool { actions?.contains(action) ?? true }

  /// Whether it is for a topic: one of its apps' or one that extends it (`.voip` …).
  public func allows(topic: String) -> Bool {
    topics?.contains { TopicText.belongs(topic, to: $0) } ?? true
  }
}
