import Operations

@testable import PushCore

extension FuzzTarget {
  /// Device tokens as apps and people write them.
  static let deviceToken = FuzzTarget(name: "device-token") { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    for allowsOddLength in [false, true] {
      do {
        let token = try DeviceToken(parsing: text, allowsOddLength: allowsOddLength)
        let digits = token.text.utf8
        try require(!digits.isEmpty && digits.count <= 200, "a device token of \(digits.count) digits")
        try require(
          digits.allSatisfy { Array("0123456789abcdef".utf8).contains($0) }, "a device token is not hexadecimal")
        try require(allowsOddLength || digits.count.isMultiple(of: 2), "half a byte is missing")
        let again = try? DeviceToken(parsing: "<\(token.text.uppercased())>\r\n", allowsOddLength: allowsOddLength)
        try require(again == token, "written otherwise it is another device token")
        try require(digits.count <= 12 || !token.shortened.holdsBytes(of: token.text), "shortened it is whole")
      } catch let fault as DeviceToken.Fault {
        try require(bytes.count < 12 || !"\(fault)".holdsBytes(of: text), "a message repeats the device token")
      }
    }
  }

  /// Interests made of addresses, and names of interests, users, topics and ids.
  static let interestSlug = FuzzTarget(name: "interest-slug") { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    if let slug = try? InterestSlug.slug(of: text) {
      try require(
        slug.utf8.allSatisfy { Array("abcdefghijklmnopqrstuvwxyz0123456789-".utf8).contains($0) },
        "a slug with other characters")
      try require(!slug.hasPrefix("-") && !slug.hasSuffix("-") && !slug.contains("--"), "a slug with empty parts")
      try require((try? InterestSlug.slug(of: slug)) == slug, "the slug of a slug is another")
      if slug.utf8.count <= InterestName.maximumLength {
        try require(InterestName.fault(in: slug) == nil, "a slug is no interest")
      }
    }
    if InterestName.fault(in: text) == nil {
      try require(
        text.utf8.count <= 164 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "such an interest is taken")
    }
    if TopicText.fault(in: text) == nil {
      for type in PushType.allCases { _ = Topic.resolve(text, for: type) }
    }
    if NotificationLimits.fault(inCollapseID: text) == nil {
      try require(text.utf8.count <= 64 && text.unicodeScalars.allSatisfy(isShown), "such a collapse id is taken")
    }
    _ = NotificationLimits.fault(inUserID: text)
    if NotificationLimits.fault(inAPNsID: text) == nil {
      try require(text.utf8.count == 36 && text.utf8.allSatisfy { $0 < 0x80 }, "such an apns-id is taken")
    }
    _ = NearestName.nearest(to: String(text.prefix(100)), in: ["production", "sandbox"])
  }

  /// Durations and times as texts.
  static let timeText = FuzzTarget(name: "time-text") { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    if let duration = try? DurationText.parse(text) {
      try require(duration >= .zero && duration <= .seconds(36_525 * 86_400), "a duration of \(duration)")
      try require((try? DurationText.parse(DurationText.format(duration))) == duration, "a duration is read otherwise")
    }
    if let time = try? RFC3339.parse(text) {
      try require((try? RFC3339.parse(RFC3339.format(time))) == time, "a time is read otherwise")
    }
    var input = FuzzInput(bytes)
    let time = UnixMilliseconds(Int64(bitPattern: input.number()))
    let written = RFC3339.format(time)
    try require((try? RFC3339.parse(written)) != nil, "a time that was written cannot be read")
  }

  /// URLs of webhooks, as who publishes writes them.
  static let webhookURL = FuzzTarget(name: "webhook-url") { bytes in
    let text = String(decoding: bytes, as: UTF8.self)
    let everywhere = ["0.0.0.0/0", "::/0"].compactMap { IPAddressRange($0) }
    if let url = try? WebhookURL(text, policy: WebhookPolicy(allowedNetworks: everywhere, allowsHTTP: true)) {
      try require(
        text.utf8.count <= WebhookURL.limitBytes && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F },
        "such a URL is taken")
      let isNumber = url.host.split(separator: ".").last?.utf8.allSatisfy { Array("0123456789".utf8).contains($0) }
      try require(!url.host.isEmpty && (isNumber == false || IPAddress(url.host) != nil), "such a host is taken")
      try require(IPAddress(url.host) != nil || text.lowercased().holdsBytes(of: url.host), "another host is read")
      try require(!"\(url)".contains { "@/?%".contains($0) }, "more than a host is shown")
    }
    let policy = WebhookPolicy()
    guard let url = try? WebhookURL(text, policy: policy) else { return }
    try require(url.text.reveal().lowercased().hasPrefix("https://"), "another scheme is taken")
    try require(IPAddress(url.host).flatMap(policy.refusal) == nil, "an address that is forbidden is taken")
  }
}
