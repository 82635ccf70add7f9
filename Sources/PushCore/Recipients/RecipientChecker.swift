import Operations

/// Checks the entries of `recipients`, and gathers every fault on the way.
struct RecipientChecker {
  /// The payload's placeholders; nil when it has none, or could not be read.
  let template: PayloadTemplate?
  /// The greatest payload that a device may be sent.
  let payloadLimitBytes: Int
  /// Where reading found a fault already: it is not said twice.
  let faultyPaths: Set<String>
  private(set) var faults: [NotificationFinding] = []
  /// Whether the payload of an entry is over the limit.
  private(set) var isPayloadTooLarge = false
  private var target = Target()
  private var values: RecipientValues
  /// The index of the entry that names somebody, by the kind of name and its bytes.
  private var named: [[UInt8]: Int] = [:]

  init(template: PayloadTemplate?, payloadLimitBytes: Int, faultyPaths: Set<String>) {
    self.template = template
    self.payloadLimitBytes = payloadLimitBytes
    self.faultyPaths = faultyPaths
    values = RecipientValues(names: template?.names ?? [])
  }

  /// The target that the entries name together, and their values; nil values when the payload has no placeholders.
  mutating func check(_ recipients: [Recipient]) -> (target: Target, recipientValues: RecipientValues?) {
    for recipient in recipients {
      let entry = checkedValues(recipient)
      do {
        try take(recipient, entry)
      } catch {
        fault("\(recipient.path).\(recipient.name.member)", error.description)
      }
    }
    checkCounts(recipients.count)
    return (target, template == nil ? nil : values)
  }

  /// What is wrong with a name.
  private struct NameFault: Error { let description: String }

  private mutating func take(_ recipient: Recipient, _ entry: RecipientValues.Entry) throws(NameFault) {
    switch recipient.name {
    case .token(let text):
      let token: DeviceToken
      do {
        token = try DeviceToken(parsing: text)
      } catch {
        throw NameFault(description: error.description)
      }
      try note(recipient, token.text)
      target.tokens.append(token)
      values.tokens.append(entry)
    case .user(let user):
      if let detail = NotificationLimits.fault(inUserID: user) { throw NameFault(description: detail) }
      try note(recipient, user)
      target.users.append(user)
      values.users.append(entry)
    case .interest(let name):
      if let detail = InterestName.fault(in: name) { throw NameFault(description: detail) }
      try note(recipient, name)
      target.interests.append(name)
      values.interests.append(entry)
    }
  }

  /// Two entries for one recipient would leave it open which values count.
  private mutating func note(_ recipient: Recipient, _ name: String) throws(NameFault) {
    let key = Array("\(recipient.name.member) \(name)".utf8)
    if let earlier = named[key] { throw NameFault(description: "it is in recipients[\(earlier)] already") }
    named[key] = recipient.index
  }

  private mutating func checkCounts(_ count: Int) {
    if count > NotificationLimits.recipients {
      fault("recipients", "\(count) are given, limit \(NotificationLimits.recipients)")
    }
    let interests = target.interests.count
    if interests > NotificationLimits.interests {
      fault("recipients", "\(interests) are interests, limit \(NotificationLimits.interests)")
    }
  }

  /// The values for the payload's placeholders, escaped; empty where one is missing, which is a fault.
  private mutating func checkedValues(_ recipient: Recipient) -> RecipientValues.Entry {
    guard let template else { return [] }
    var isComplete = true
    let isRead = !faultyPaths.contains("\(recipient.path).values")
    let entry = template.names.map { name -> [UInt8] in
      let path = "\(recipient.path).values.\(name)"
      guard let value = recipient.values[name] else {
        isComplete = false
        if isRead, !faultyPaths.contains(path) {
          fault(path, "the payload has {{\(name)}}; give a string, if only an empty one")
        }
        return []
      }
      if value.utf8.contains(0) { fault(path, "it has the character U+0000, which is not taken: remove it") }
      return PayloadTemplate.escaped(value)
    }
    let count = template.byteCount(entry)
    if isComplete, count > payloadLimitBytes {
      isPayloadTooLarge = true
      fault(recipient.path, "with these values the payload has \(Payload.sizeFault(count, limit: payloadLimitBytes))")
    }
    return entry
  }

  private mutating func fault(_ path: String, _ detail: String) { faults.append(NotificationFinding(path, detail)) }
}
