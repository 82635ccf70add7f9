import Operations

/// What the rules say about one request.
public struct Verdict: Sendable, Equatable {
  /// The first rule broken, or nil: accepted.
  public var rejection: Rejection?
  /// The device token of the path as sent; nil when the path names none.
  public var deviceToken: String?
  /// The apns-id to echo; nil when the request has none that is well-formed.
  public var messageID: String?
  /// What a device or Apple may take amiss although nobody has documented an answer for it.
  public var warnings: [String] = []

  /// Whether the answer is 200.
  public var isAccepted: Bool { rejection == nil }

  /// The status of the answer.
  public var status: Int { rejection?.reason.status ?? 200 }
}

/// A rule that a request breaks.
public struct Rejection: Error, Sendable, Equatable {
  /// Apple's word for it.
  public var reason: Reason
  /// With 410: since when the device token is known to be gone.
  public var timestamp: UnixMilliseconds?

  /// A rejection for a reason.
  public init(_ reason: Reason, timestamp: UnixMilliseconds? = nil) {
    self.reason = reason
    self.timestamp = timestamp
  }
}
