import Operations

/// One request as a listener received it: every field in its order, nothing repaired.
public struct PushRequest: Sendable, Equatable {
  /// A header field.
  public struct Field: Sendable, Equatable {
    /// The name; HTTP/2 lets only lower case through.
    public var name: String
    /// The bytes of the value.
    public var value: [UInt8]

    /// A field by its parts.
    public init(name: String, value: [UInt8]) {
      self.name = name
      self.value = value
    }

    /// A field with a text as value.
    public init(_ name: String, _ value: String) { self.init(name: name, value: Array(value.utf8)) }

    /// The value as text; bytes that are not UTF-8 are replaced, so lengths are taken from ``value``.
    public var text: String { String(decoding: value, as: UTF8.self) }
  }

  /// Which of Apple's hosts the listener stands for.
  public let role: ListenerRole
  /// `:method`.
  public var method: String
  /// `:scheme`.
  public var scheme: String
  /// `:path`.
  public let path: String
  /// What the path names; nil when the role knows no such path.
  let target: RequestTarget?
  /// The fields that are no pseudo fields, repeated ones too.
  public var fields: [Field]
  /// The body, at most as many bytes of it as the listener keeps.
  public var body: [UInt8]
  /// How many bytes the body had; more than ``body`` holds when the rest was dropped.
  public var bodyByteCount: Int

  /// A request by its parts; `bodyByteCount` nil means that the body is whole.
  public init(
    role: ListenerRole, method: String, scheme: String, path: String, fields: [Field], body: [UInt8],
    bodyByteCount: Int? = nil
  ) {
    self.role = role
    self.method = method
    self.scheme = scheme
    self.path = path
    target = RequestTarget(path: path, of: role)
    self.fields = fields
    self.body = body
    self.bodyByteCount = bodyByteCount ?? body.count
  }

  /// Whose devices and channels it is about.
  public var environment: Environment { role.environment }

  /// Whether its id is an `apns-request-id`, as that of all but pushes to devices is, and no `apns-id`.
  var hasRequestID: Bool { role.managesChannels || target?.bundleID != nil }

  /// The statuses that say that it is accepted. A creation was seen answered with 200 as well as with Apple's 201.
  var acceptedStatuses: [Int] { [200] + (ChannelCall(target, method: method).map { [$0.status] } ?? []) }

  /// The value of the first field of that name.
  func value(_ name: String) -> [UInt8]? { fields.first { $0.name == name }?.value }

  /// The text of the first field of that name.
  func text(_ name: String) -> String? { fields.first { $0.name == name }?.text }
}
