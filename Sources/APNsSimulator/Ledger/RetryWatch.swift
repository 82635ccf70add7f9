import Operations

/// What tells whether a request is one that came before.
struct PushIdentity: Sendable {
  /// The apns-id; nil: the client gave none that is well-formed.
  var messageID: UInt128?
  /// ``Fingerprint`` of the device token.
  var device: UInt64?
  /// ``Fingerprint`` of the collapse id.
  var collapseID: UInt64?
  /// ``Fingerprint`` of `authorization`.
  var providerToken: UInt64?

  /// Stands for device and collapse id together; nil when one of them is missing.
  var replacement: UInt64? {
    guard let device, let collapseID else { return nil }
    return device ^ (collapseID &* 0x9E37_79B9_7F4A_7C15)
  }
}

/// Notices pushes that come again although they never will be accepted, or too soon.
///
/// Two requests are the same push when their apns-id is the same, or their device token and collapse id.
struct RetryWatch: Sendable {
  /// Whether the same request may never be sent again after an answer.
  /// Source: Apple's table of responses.
  static func isFinal(status: Int, reason: String?) -> Bool {
    switch status {
    case 400: reason != "IdleTimeout"
    case 403: reason != "ExpiredProviderToken" && reason != "UnrelatedKeyIdInToken"
    case 404, 405, 410, 413: true
    default: false
    }
  }

  /// Whether that holds only as long as the provider token is the same and nobody has mended the credential.
  static func isAboutCredential(status: Int, reason: String?) -> Bool { status == 403 || reason == "TopicDisallowed" }

  private static let rememberedWaits = 65536

  private var messages = CompactSet<UInt128>()
  private var replacements = CompactSet<UInt64>()
  private var waits: [UInt128: UnixMilliseconds] = [:]
  private var leftOut: Set<UInt128> = []

  /// What the client does wrong by sending this push now. That it is accepted shows that its credential has been mended.
  func violations(of push: PushIdentity, isAccepted: Bool, now: UnixMilliseconds) -> [Violation] {
    var violations: [Violation] = []
    let salts = isAccepted ? [0] : [0, push.providerToken ?? 0]
    if salts.contains(where: { salt in
      push.messageID.map { messages.contains(Self.salted($0, salt)) } ?? false
        || push.replacement.map { replacements.contains($0 ^ salt) } ?? false
    }) {
      violations.append(.finalRetry)
    }
    if let key = waitKey(of: push), let time = waits[key], now < time { violations.append(.earlyRetry) }
    return violations
  }

  /// Remembers that a GOAWAY left a push out, so that it may come again.
  mutating func leftOut(_ push: PushIdentity) {
    if let id = push.messageID { leftOut.insert(id) }
  }

  /// Whether a GOAWAY left the push out, which makes up for one repeat.
  mutating func takeLeftOut(_ push: PushIdentity) -> Bool { push.messageID.flatMap { leftOut.remove($0) } != nil }

  /// Remembers the answer to a push.
  mutating func answered(
    _ push: PushIdentity, status: Int, reason: String?, retryAfter: Duration?, now: UnixMilliseconds
  ) {
    if Self.isFinal(status: status, reason: reason) {
      let salt = Self.isAboutCredential(status: status, reason: reason) ? push.providerToken ?? 0 : 0
      if let id = push.messageID { messages.insert(Self.salted(id, salt)) }
      if let replacement = push.replacement { replacements.insert(replacement ^ salt) }
    }
    guard let key = waitKey(of: push) else { return }
    if let retryAfter {
      if waits.count >= Self.rememberedWaits { waits = waits.filter { $0.value > now } }
      if waits.count >= Self.rememberedWaits { waits.removeAll() }
      waits[key] = UnixMilliseconds(now.value + retryAfter.wholeMilliseconds)
    } else if !waits.isEmpty {
      waits[key] = nil
    }
  }

  private static func salted(_ key: UInt128, _ salt: UInt64) -> UInt128 { key ^ UInt128(salt) }

  private func waitKey(of push: PushIdentity) -> UInt128? { push.messageID ?? push.device.map { UInt128($0) } }
}
