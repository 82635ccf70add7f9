import Operations

/// Turns a request into a publication, gathering every fault on the way.
struct NotificationChecker {
  let request: NotificationRequest
  let now: UnixMilliseconds
  let defaults: NotificationDefaults
  private var faults: [NotificationFinding]
  private var warnings: [NotificationFinding] = []
  private var oversizedByteCount: Int?
  private var isPayloadTooLarge = false

  init(request: NotificationRequest, now: UnixMilliseconds, defaults: NotificationDefaults) {
    self.request = request
    self.now = now
    self.defaults = defaults
    faults = request.readingFaults
  }

  mutating func check() throws(NotificationFaults) -> (
    publication: Publication, warnings: [NotificationFinding]
  ) {
    let payload = checkedPayload()
    let pushType = checkedPushType(payload)
    let topic = checkedTopic(pushType)
    let template = checkedTemplate(payload)
    checkPayload(payload, pushType, hasPlaceholders: template != nil)
    let priority = checkedPriority(pushType)
    let (target, recipientValues) = checkedAudience(template, pushType)
    checkCollapseID()
    checkAPNsID(target)
    let deadline = checkedDeadline()
    let lane = checkedLane(payload)
    let environment = checkedEnvironment()
    checkSendAt(deadline)
    guard faults.isEmpty, let payload, let topic else {
      throw NotificationFaults(faults, isPayloadTooLarge: isPayloadTooLarge)
    }
    let headers = PushHeaders(
      pushType: pushType, priority: priority, collapseID: request.collapseID,
      expiresImmediately: deadline == .immediate, apnsID: request.apnsID)
    var publication = Publication(
      topic: topic, target: target, environment: environment,
      defaultEnvironment: defaults.environment,
      payload: payload.bytes, headers: headers, lane: lane, deadline: deadline,
      sendAt: request.sendAt,
      reachesUnverifiedUsers: defaults.reachesUnverifiedUsers)
    publication.recipientValues = recipientValues
    return (publication, warnings)
  }

  // MARK: Payload, push type, topic

  private mutating func checkedPayload() -> Payload? {
    guard let bytes = request.payload else {
      if !isAlreadyFaulty("payload") {
        fault("payload", "there is none; give the JSON that the device is to receive")
      }
      return nil
    }
    do {
      return try Payload(bytes)
    } catch {
      if let count = error.oversizedByteCount {
        oversizedByteCount = count
      } else {
        fault("payload", error.description)
      }
      return nil
    }
  }

  /// The type that is named, else that of the topic's suffix, else that of the payload.
  private mutating func checkedPushType(_ payload: Payload?) -> PushType {
    if let name = request.pushType {
      if let type = PushType(rawValue: name) { return type }
      let names = PushType.allCases.map(\.rawValue)
      let nearest = NearestName.nearest(to: name, in: names).map { "; did you mean \($0)?" } ?? ""
      fault("push_type", "it must be one of \(names.joined(separator: ", "))\(nearest)")
    }
    if let topic = request.topic ?? defaults.topic, let type = PushType(suffixOf: topic) {
      return type
    }
    return payload?.inferredPushType ?? .alert
  }

  private mutating func checkedTopic(_ type: PushType) -> String? {
    guard let topic = request.topic ?? defaults.topic else {
      if !isAlreadyFaulty("topic") {
        fault("topic", "there is none; give the bundle id of the app")
      }
      return nil
    }
    if let detail = TopicText.fault(in: topic) {
      fault("topic", detail)
      return nil
    }
    let (resolved, detail) = Topic.resolve(topic, for: type)
    if let detail { fault("topic", detail) }
    return resolved
  }

  /// The placeholders that recipients have values for; nil when there are none.
  private mutating func checkedTemplate(_ payload: Payload?) -> PayloadTemplate? {
    guard request.recipients != nil, let payload else { return nil }
    do {
      let template = try PayloadTemplate(payload)
      return template.names.isEmpty ? nil : template
    } catch {
      fault("payload", error.description)
      return nil
    }
  }

  /// With placeholders, what each recipient gets is measured instead.
  private mutating func checkPayload(_ payload: Payload?, _ type: PushType, hasPlaceholders: Bool) {
    let limit = type.rules.payloadLimitBytes
    if let payload, payload.bytes.count > limit, !hasPlaceholders { oversizedByteCount = payload.bytes.count }
    if let count = oversizedByteCount {
      isPayloadTooLarge = true
      fault("payload", Payload.sizeFault(count, limit: limit))
    }
    guard let payload else { return }
    faults += payload.faults(for: type)
    warnings += payload.warnings(for: type)
  }

  private mutating func checkedPriority(_ type: PushType) -> Priority {
    let rules = type.rules
    guard let number = request.priority else { return rules.defaultPriority }
    guard let priority = UInt8(exactly: number).flatMap(Priority.init(rawValue:)) else {
      fault("priority", "it must be 10, 5 or 1")
      return rules.defaultPriority
    }
    guard rules.allowedPriorities.contains(priority) else {
      let allowed = rules.allowedPriorities.map { String($0.rawValue) }.joined(separator: " or ")
      fault(
        "priority",
        "a push of type \(type.rawValue) must use priority \(allowed): Apple takes \(number) for an error"
      )
      return rules.defaultPriority
    }
    return priority
  }

  // MARK: Target

  private mutating func checkedAudience(
    _ template: PayloadTemplate?, _ type: PushType
  ) -> (target: Target, recipientValues: RecipientValues?) {
    if request.hasNoTarget, !faults.contains(where: { $0.path.hasPrefix("target") || $0.path.hasPrefix("recipients") })
    {
      let member = request.recipients == nil ? "target" : "recipients"
      fault(
        member, "it names nobody; give at least one interest, user or token\(member == "target" ? ", or everyone" : "")"
      )
    }
    guard let recipients = request.recipients else { return (checkedTarget(), nil) }
    var checker = RecipientChecker(
      template: template, payloadLimitBytes: type.rules.payloadLimitBytes,
      faultyPaths: Set(request.readingFaults.map(\.path)))
    let audience = checker.check(recipients)
    faults += checker.faults
    isPayloadTooLarge = isPayloadTooLarge || checker.isPayloadTooLarge
    return audience
  }

  private mutating func checkedTarget() -> Target {
    let interests = checkedNames(
      "interests", request.interests, NotificationLimits.interests, InterestName.fault)
    let users = checkedNames(
      "users", request.users, NotificationLimits.users, NotificationLimits.fault(inUserID:))
    return Target(
      interests: interests, users: users, tokens: checkedTokens(), everyone: request.everyone)
  }

  private mutating func checkedNames(
    _ member: String, _ names: [String], _ limit: Int, _ faultIn: (String) -> String?
  ) -> [String] {
    if names.count > limit { fault("target.\(member)", "\(names.count) are given, limit \(limit)") }
    // The store compares names byte by byte; as a String, é would be the same as e with U+0301.
    var seen: Set<[UInt8]> = []
    var unique: [String] = []
    for (index, name) in names.enumerated() {
      if let detail = faultIn(name) {
        fault("target.\(member)[\(index)]", detail)
      } else if seen.insert(Array(name.utf8)).inserted {
        unique.append(name)
      }
    }
    return unique
  }

  private mutating func checkedTokens() -> [DeviceToken] {
    let limit = NotificationLimits.tokens
    if request.tokens.count > limit {
      fault("target.tokens", "\(request.tokens.count) are given, limit \(limit)")
    }
    var seen: Set<DeviceToken> = []
    var unique: [DeviceToken] = []
    for (index, text) in request.tokens.enumerated() {
      do {
        let token = try DeviceToken(parsing: text)
        if seen.insert(token).inserted { unique.append(token) }
      } catch {
        fault("target.tokens[\(index)]", error.description)
      }
    }
    return unique
  }

  // MARK: Headers, time, lane

  private mutating func checkCollapseID() {
    if let text = request.collapseID, let detail = NotificationLimits.fault(inCollapseID: text) {
      fault("collapse_id", detail)
    }
  }

  private mutating func checkAPNsID(_ target: Target) {
    guard let text = request.apnsID else { return }
    if let detail = NotificationLimits.fault(inAPNsID: text) { fault("apns_id", detail) }
    let isOneDevice =
      request.tokens.count == 1 && target.interests.isEmpty && target.users.isEmpty
      && !target.everyone
    if !isOneDevice {
      fault("apns_id", "it names one push; give exactly one device token and nothing else")
    }
  }

  private mutating func checkedDeadline() -> Deadline {
    if request.expiresIn != nil, request.expiration != nil {
      fault("expiration", "give either expires_in or expiration, not both")
    }
    if let seconds = request.expiration {
      if let detail = NotificationLimits.fault(inExpiration: seconds, now: now) {
        fault("expiration", detail)
      }
      if seconds == 0 { return .immediate }
      if seconds <= now.seconds {
        warn("expiration", "the time is past: the notification expires without being sent")
      }
      return .at(UnixMilliseconds(seconds.multipliedReportingOverflow(by: 1000).partialValue))
    }
    if let duration = request.expiresIn {
      if duration < .zero || duration > NotificationLimits.deadlineAhead {
        fault("expires_in", "it must be between 0s and 10 years")
      }
      return duration == .zero ? .immediate : .after(duration)
    }
    return .after(Publication.defaultLifetime)
  }

  private mutating func checkedLane(_ payload: Payload?) -> Lane {
    if let name = request.lane {
      if let lane = Lane(name: name) { return lane }
      fault("lane", "it must be urgent, normal or bulk")
    }
    if payload?.category == LoginApproval.category { return .urgent }
    return request.everyone ? .bulk : defaults.lane
  }

  private mutating func checkedEnvironment() -> Environment? {
    guard let name = request.environment else { return nil }
    guard let environment = Environment(name: name) else {
      fault("environment", "it must be production or sandbox")
      return nil
    }
    return environment
  }

  private mutating func checkSendAt(_ deadline: Deadline) {
    guard let sendAt = request.sendAt else { return }
    let ahead = Duration.milliseconds(sendAt.value &- now.value)
    if ahead > NotificationLimits.scheduleAhead {
      fault("send_at", "it must be at most 30 days ahead")
    }
    if sendAt <= now { warn("send_at", "the time is past: the notification is sent at once") }
    if case .at(let end) = deadline, end <= sendAt, end > now {
      warn("send_at", "the notification expires before this time: it will not be sent")
    }
  }

  // MARK: Findings

  private mutating func fault(_ path: String, _ detail: String) {
    faults.append(NotificationFinding(path, detail))
  }

  private mutating func warn(_ path: String, _ detail: String) {
    warnings.append(NotificationFinding(path, detail))
  }

  /// Whether reading found a fault there already: it is not said twice.
  private func isAlreadyFaulty(_ path: String) -> Bool {
    request.readingFaults.contains { $0.path == path }
  }
}
