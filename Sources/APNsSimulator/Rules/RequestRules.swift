import Operations

/// Apple's rules for each of the three APIs, checked one after another; the first one broken names the answer. Those of
/// `POST /3/device/<device token>` stand here, the others in ``BroadcastRules`` and ``ChannelRules``.
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
  /// What Apple leaves open.
  public var knobs = Knobs()
  /// The channels of broadcasts, and who may have any.
  var channels = ChannelStore()

  /// Rules over the given state.
  public init(
    providerTokens: ProviderTokenRules, topics: TopicRules = TopicRules(), devices: DeviceRegistry = DeviceRegistry()
  ) {
    self.providerTokens = providerTokens
    self.topics = topics
    self.devices = devices
  }

  /// Judges the only request of a connection.
  public mutating func judge(_ request: PushRequest, now: UnixMilliseconds) -> Verdict {
    var connection = ConnectionBinding()
    return judge(request, on: &connection, now: now)
  }

  /// Judges one request of a connection at a time of the wall clock; remembers its provider token.
  public mutating func judge(
    _ request: PushRequest, on connection: inout ConnectionBinding, now: UnixMilliseconds
  ) -> Verdict {
    var verdict = Verdict(unchecked: request)
    do throws(Rejection) {
      try check(request, on: &connection, &verdict, now: now)
    } catch {
      verdict.rejection = error
    }
    return verdict
  }

  /// What all three APIs have in common, and the only place that tells them apart.
  private mutating func check(
    _ request: PushRequest, on connection: inout ConnectionBinding, _ verdict: inout Verdict, now: UnixMilliseconds
  ) throws(Rejection) {
    if request.scheme != "https" { verdict.warnings.append(":scheme is not https") }
    guard let target = request.target else { throw Rejection(.badPath) }
    guard target.methods.contains(request.method) else { throw Rejection(.methodNotAllowed) }
    let credential = try credential(of: request, on: &connection, now: now)
    switch target {
    case .device(let deviceToken):
      verdict.topic = try check(
        request, deviceToken: deviceToken, of: credential, now: now, warnings: &verdict.warnings)
    case .broadcast(let bundleID), .channels(let bundleID), .allChannels(let bundleID):
      try topics.check(bundleID: bundleID, of: credential)
      let app = ChannelStore.App(bundleID: bundleID, environment: request.environment)
      if let call = ChannelCall(target, method: request.method) {
        verdict.success = try ChannelRules.perform(
          call, request, of: app, channels: &channels, warnings: &verdict.warnings)
      } else {
        try BroadcastRules.check(request, of: app, channels: channels, now: now, warnings: &verdict.warnings)
        if knobs.rejectsMalformedJSON { try PayloadRules.checkObject(request.body) }
      }
    }
  }

  private func check(
    _ request: PushRequest, deviceToken: String, of credential: Credential, now: UnixMilliseconds,
    warnings: inout [String]
  ) throws(Rejection) -> String {
    guard !deviceToken.isEmpty else { throw Rejection(.missingDeviceToken) }

    try HeaderRules.checkDuplicates(request.fields)
    try HeaderRules.checkMessageID(request.text("apns-id"), warnings: &warnings)
    let expiration = try HeaderRules.checkExpiration(
      request.value("apns-expiration"), nowSeconds: now.seconds, warnings: &warnings)
    let type = try pushType(request, warnings: &warnings)
    try HeaderRules.checkPriority(request.text("apns-priority"), type: type, warnings: &warnings)
    try HeaderRules.checkCollapseID(request.value("apns-collapse-id"), warnings: &warnings)

    let topic = try topics.check(request.text("apns-topic") ?? credential.defaultTopic, of: credential)
    if let type { try topics.check(topic, fits: type) }
    if type == .pushtotalk, expiration != 0 { warnings.append("apns-expiration of a pushtotalk push should be 0") }

    let payloadType = type ?? PushType.ofSuffix(in: topic)
    try PayloadRules.checkSize(
      request.bodyByteCount, limitBytes: payloadType?.payloadLimitBytes ?? PushType.usualPayloadLimitBytes)
    let app = ChannelStore.App(bundleID: TopicRules.bundleID(of: topic), environment: request.environment)
    PayloadRules.inspect(
      request.body, type: payloadType, for: .device { channels.contains($0, of: app) }, warnings: &warnings)
    if knobs.rejectsMalformedJSON { try PayloadRules.checkObject(request.body) }
    try devices.check(deviceToken, now: now)
    return topic
  }

  /// A client certificate counts for the whole connection, and `authorization` then means nothing.
  private mutating func credential(
    of request: PushRequest, on connection: inout ConnectionBinding, now: UnixMilliseconds
  ) throws(Rejection) -> Credential {
    if let certificate = connection.certificate {
      try certificate.check(request.environment)
      return .certificate(certificate)
    }
    return .key(
      try providerTokens.check(
        request.value("authorization"), environment: request.environment, on: &connection, knobs: knobs, now: now))
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
