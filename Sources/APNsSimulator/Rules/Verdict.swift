import Operations

/// What the rules say about one request.
public struct Verdict: Sendable, Equatable {
  /// What the answer to an accepted request holds beside its ids.
  struct Success: Sendable, Equatable {
    var status = 200
    /// The `apns-channel-id` of a new channel.
    var channelID: String?
    var body: [UInt8] = []
  }

  /// The first rule broken, or nil: accepted.
  public var rejection: Rejection?
  /// The device token of the path as sent; nil when the path names none.
  public var deviceToken: String?
  /// The topic of a push: that of the field, or the default of a certificate.
  public var topic: String?
  /// The apns-id to echo; nil when the request has none that is well-formed, or is no push to a device.
  public var messageID: String?
  /// The same for the apns-request-id of a broadcast or of a call about channels.
  public var requestID: String?
  /// The answer when no rule is broken.
  var success = Success()
  /// What a device or Apple may take amiss although nobody has documented an answer for it.
  public var warnings: [String] = []

  /// Whether no rule is broken.
  public var isAccepted: Bool { rejection == nil }

  /// The status of the answer.
  public var status: Int { rejection?.reason.status ?? success.status }
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
