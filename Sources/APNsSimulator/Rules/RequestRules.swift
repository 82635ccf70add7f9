import Operations

/// Apple's rules for `POST /3/device/<device token>`, checked one after another; the first one broken names the answer.
///
/// Written from Apple's pages and from answers seen on the wire, never from a sender. What is known of Apple's own order
/// is only that the provider token is judged before anything about the device token.
public struct RequestRules: Sendable {
  /// What is known of device tokens.
  public var devices: DeviceRegistry
  /// The topics of the credential.
  public var topics: TopicRules
  /// The credentials, and the provider tokens seen.
  public var providerTokens: ProviderTokenRules

  /// Rules over the given state.
  public init(
    providerTokens: ProviderTokenRules, topics: TopicRules = TopicRules(), devices: DeviceRegistry = DeviceRegistry()
  ) {
    self.providerTokens = providerTokens
    self.topics = topics
    self.devices = devices
  }

  /// Judges one request at a time of the wall clock; remembers its provider token.
  public mutating func judge(_ request: PushRequest, now: UnixMilliseconds) -> Verdict {
    var verdict = Verdict()
    verdict.deviceToken = RequestTarget.deviceToken(in: request.path)
    verdict.messageID = request.text("apns-id").flatMap { HeaderRules.isUUID($0) ? $0 : nil }
    do throws(Rejection) {
      try check(request, deviceToken: verdict.deviceToken, now: now, warnings: &verdict.warnings)
    } catch {
      verdict.rejection = error
    }
    return verdict
  }

  private mutating func check(
    _ request: PushRequest, deviceToken: String?, now: UnixMilliseconds, warnings: inout [String]
  ) throws(Rejection) {
    if request.scheme != "https" { warnings.append(":scheme is not https") }
    guard request.method == "POST" else { throw Rejection(.methodNotAllowed) }
    guard let deviceToken else { throw Rejection(.badPath) }
    let keyID = try providerTokens.check(request.value("authorization"), environment: request.environment, now: now)
    guard !deviceToken.isEmpty else { throw Rejection(.missingDeviceToken) }

    try HeaderRules.checkDuplicates(request.fields)
    try HeaderRules.checkMessageID(request.text("apns-id"), warnings: &warnings)
    let expiration = try HeaderRules.checkExpiration(
      request.value("apns-expiration"), nowSeconds: now.seconds, warnings: &warnings)
    let type = try pushType(request, warnings: &warnings)
    try HeaderRules.checkPriority(request.text("apns-priority"), type: type, warnings: &warnings)
    try HeaderRules.checkCollapseID(request.value("apns-collapse-id"), warnings: &warnings)

    let topic = request.text("apns-topic")
    try topics.check(topic, keyID: keyID)
    if let type, let topic { try topics.check(topic, fits: type) }
    if type == .pushtotalk, expiration != 0 { warnings.append("apns-expiration of a pushtotalk push should be 0") }

    let payloadType = type ?? topic.flatMap(PushType.ofSuffix)
    try PayloadRules.checkSize(request.bodyByteCount, type: payloadType)
    PayloadRules.inspect(request.body, type: payloadType, warnings: &warnings)
    try devices.check(deviceToken, now: now)
  }

  private func pushType(_ request: PushRequest, warnings: inout [String]) throws(Rejection) -> PushType? {
    guard let text = request.text("apns-push-type") else {
      warnings.append("apns-push-type is absent; watchOS 6 and later require it")
      return nil
    }
    guard let type = PushType(rawValue: text) else { throw Rejection(.invalidPushType) }
    return type
  }
}
