import Operations

/// Apple's rules for `POST /4/broadcasts/apps/<bundle id>` behind those of the credential, checked one after another.
///
/// Source: Apple, "Sending broadcast push notification requests to APNs".
enum BroadcastRules {
  /// The fields that may stand only once.
  static let single = [
    "authorization", "apns-request-id", "apns-channel-id", "apns-push-type", "apns-expiration", "apns-priority",
  ]

  /// Fields of pushes to devices that say nothing here.
  private static let foreign = ["apns-topic", "apns-id", "apns-collapse-id"]

  /// The largest payload in bytes.
  static let payloadLimitBytes = 5120

  /// Refuses a broadcast that breaks a rule, or goes to a channel that the app does not have.
  static func check(
    _ request: PushRequest, of app: ChannelStore.App, channels: ChannelStore, now: UnixMilliseconds,
    warnings: inout [String]
  ) throws(Rejection) {
    try HeaderRules.checkDuplicates(request.fields, of: single)
    try HeaderRules.checkRequestID(request.text("apns-request-id"), warnings: &warnings)
    try checkPushType(request.text("apns-push-type"))
    let channel = try HeaderRules.channelID(request)
    // Unlike those of a device, these two fields are required.
    guard
      let expiration = try HeaderRules.checkExpiration(
        request.value("apns-expiration"), nowSeconds: now.seconds, stored: .broadcast, warnings: &warnings)
    else { throw Rejection(.badExpirationDate) }
    guard let priority = request.text("apns-priority") else { throw Rejection(.badPriority) }
    try HeaderRules.checkPriority(priority, type: nil, warnings: &warnings)
    for name in foreign where request.value(name) != nil { warnings.append("\(name) says nothing in a broadcast") }

    try channels.checkCapability(of: app)
    let policy = try channels.policy(of: channel, of: app)
    guard policy == .mostRecent || expiration == 0 else { throw Rejection(.badExpirationDate) }

    try PayloadRules.checkSize(request.bodyByteCount, limitBytes: payloadLimitBytes)
    PayloadRules.inspect(request.body, type: .liveactivity, for: .channel, warnings: &warnings)
  }

  /// `liveactivity` in any case: Apple's own pages do not agree on one.
  private static func checkPushType(_ value: String?) throws(Rejection) {
    guard let value else { throw Rejection(.missingPushType) }
    guard value.lowercased() == PushType.liveactivity.rawValue else { throw Rejection(.invalidPushType) }
  }
}
